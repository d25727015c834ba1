//! Rules, settings and ignore comments together: what a user is to see.

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::file_rules::{self, FILE_RULES, FileChoices};
use crate::finding::Finding;
use crate::project::{Project, check};
use crate::selection::{RuleSet, Selection};
use crate::settings::Settings;
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
}

/// What there is to say about one file.
#[derive(Debug, Default)]
pub struct Checked {
    /// In the order of the text.
    pub findings: Vec<Finding>,
    /// How many findings comments silenced.
    pub silenced: usize,
}

/// Checks every file of a project as `choices`, one a file, say.
#[must_use]
pub fn lint(project: &Project, choices: &Choices) -> Vec<Checked> {
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
