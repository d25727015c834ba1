//! Rules, settings and ignore comments together: what a user is to see.

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::file_rules::{self, FILE_RULES, FileChoices};
use crate::finding::Finding;
use crate::fixes::offer;
use crate::project::{Project, check};
use crate::requirements::TorchVersions;
use crate::selection::{RuleSet, Selection};
use crate::settings::Settings;
use crate::source::Source;
use crate::suppress;

/// What is to run on each file of a project.
#[derive(Debug, Default)]
pub struct Choices {
    sets: Vec<(RuleSet, FileChoices)>,
    of_file: Vec<usize>,
    /// Files under the same settings that the same patterns spare share a set.
    known: FxHashMap<(usize, Vec<usize>), usize>,
}

impl Choices {
    /// Says which settings the project's next file has; `path` is what their patterns are tried on.
    pub fn push(&mut self, settings: &Arc<Settings>, path: &Path) {
        let key = (Arc::as_ptr(settings) as usize, settings.sparing(path));
        let set = *self.known.entry(key).or_insert_with(|| {
            self.sets.push((settings.rule_set(path), FILE_RULES.map(|rule| settings.choice(rule, path))));
            self.sets.len() - 1
        });
        self.of_file.push(set);
    }

    /// The choices of one file, as if it were the only one.
    fn alone(&self, file: usize) -> Self {
        let set = self.of_file.get(file).and_then(|set| self.sets.get(*set));
        let of_file = vec![0; usize::from(set.is_some())];
        Self { sets: set.cloned().into_iter().collect(), of_file, ..Self::default() }
    }
}

/// What there is to say about one file.
#[derive(Debug, Default)]
pub struct Checked {
    /// In the order of the text.
    pub findings: Vec<Finding>,
    /// How many findings comments silenced.
    pub silenced: usize,
}

/// Checks every file of a project as `choices`, one a file, say. Fixes that could hurt are not offered; `torch_of` has
/// the versions of torch that the fixes of a file have to work with, and is asked only where there are fixes.
#[must_use]
pub fn lint(project: &Project, choices: &Choices, torch_of: impl Fn(usize) -> TorchVersions + Sync) -> Vec<Checked> {
    let mut checked = look(project, choices);
    let with_fixes = |checked: &Checked| checked.findings.iter().any(|finding| finding.fix.is_some());
    let offering = checked.par_iter_mut().enumerate().filter(|(_, checked)| with_fixes(checked));
    offering.for_each(|(file, checked)| {
        let again = |source: Source| {
            let alone = look(&Project::new(vec![source]), &choices.alone(file));
            alone.into_iter().next().map(|checked| checked.findings).unwrap_or_default()
        };
        let surroundings = project.surroundings(torch_of(file));
        offer(&project.sources()[file], &mut checked.findings, surroundings, again);
    });
    checked
}

/// What there is to say, with every fix a rule could think of.
fn look(project: &Project, choices: &Choices) -> Vec<Checked> {
    let selection =
        Selection::per_file(choices.sets.iter().map(|(set, _)| set.clone()).collect(), choices.of_file.clone());
    let found = check(project, &selection);
    let files = project.sources().par_iter().zip(found).enumerate();
    let finish = |(index, (source, mut findings)): (usize, (_, Vec<Finding>))| {
        let Some((rules, own)) = choices.of_file.get(index).and_then(|set| choices.sets.get(*set)) else {
            return Checked { findings, silenced: 0 };
        };
        file_rules::syntax_errors(source, *own, &mut findings);
        let silenced = suppress::apply(source, rules, *own, &mut findings);
        findings.sort_by_key(|finding| (finding.range.start(), finding.range.end(), finding.rule));
        Checked { findings, silenced }
    };
    files.map(finish).collect()
}
