//! All files of a run together, so that what one defines is known in the others.

use std::cell::OnceCell;

use rayon::prelude::*;

use crate::analysis::analyse;
use crate::causes::reported_once;
use crate::facts::{Facts, Often, Unreached};
use crate::finding::{Evidence, Finding, Level};
use crate::fixes::gate::Surroundings;
use crate::python::Imported;
use crate::report::Report;
use crate::requirements::TorchVersions;
use crate::rule::{Group, Rule};
use crate::selection::Selection;
use crate::source::Source;

/// The files checked in one run; one alone is a project too.
#[derive(Debug)]
pub struct Project {
    sources: Vec<Source>,
    imported: Imported,
}

impl Project {
    /// Puts files together. Names that are paths let imports between them be followed.
    #[must_use]
    pub fn new(mut sources: Vec<Source>) -> Self {
        let imported = sources.par_iter().map(|source| Imported::by(source.body()));
        let imported = imported.reduce(Imported::default, Imported::and);
        sources.par_iter_mut().filter(|source| source.concerns_torch()).for_each(|source| {
            source.read_in_place(&imported);
        });
        Self { sources, imported }
    }

    /// What the gate for fixes asks of a project that declares these versions of torch.
    #[must_use]
    pub fn surroundings(&self, torch: TorchVersions) -> Surroundings<'_> {
        Surroundings { torch, imported: &self.imported }
    }

    /// The files, in the order they were given.
    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The files again, to make another project of them.
    #[must_use]
    pub fn into_sources(self) -> Vec<Source> {
        self.sources
    }
}

/// Runs the selected rules over every file: one list of findings a file, each in the order of the text.
#[must_use]
pub fn check(project: &Project, selection: &Selection) -> Vec<Vec<Finding>> {
    let found = analyse(&project.sources, |index, facts| check_file(facts, index, selection));
    found.into_iter().map(Option::unwrap_or_default).collect()
}

fn check_file(facts: &Facts<'_>, index: usize, selection: &Selection) -> Vec<Finding> {
    let mut findings = Vec::new();
    let unreached = OnceCell::new();
    for (rule, choice) in selection.of(index).running() {
        let mut report = Report::new(rule);
        (rule.check)(facts, &mut report);
        let lower = |finding| if is_about_spelling(rule) { finding } else { lowered(rule, finding, &unreached, facts) };
        findings.extend(report.into_findings().into_iter().map(lower).filter_map(|finding| choice.apply(finding)));
    }
    findings.sort_by_key(|finding| (finding.range.start(), finding.range.end(), finding.rule));
    findings.dedup_by_key(|finding| (finding.range, finding.rule));
    let mut findings = reported_once(facts, findings);
    findings.sort_by_key(|finding| (finding.range.start(), finding.range.end(), finding.rule));
    findings
}

/// Whether a rule is about names that are wrong wherever they stand, run or not.
fn is_about_spelling(rule: &Rule) -> bool {
    matches!(
        rule.name,
        "deprecated-amp-api" | "deprecated-memory-api" | "unknown-memory-api" | "alloc-conf-unknown-key"
    )
}

/// How often a run must get to where a rule points for what it says to be true.
fn asked_of(rule: &Rule) -> Often {
    let of_batches = ["in-loop", "in-inner-loop", "every-step", "per-batch"].iter().any(|end| rule.name.ends_with(end));
    match (rule.name, rule.group) {
        ("hook-handle-dropped" | "previous-step-result-alive" | "accumulation-walks-whole-loader", _) => {
            Often::OnceATurn
        }
        _ if of_batches => Often::OnceATurn,
        // A graph that grows and gradients that pile up take more than one turn.
        (_, Group::Graph | Group::Optimizer) => Often::Once,
        _ => Often::Never,
    }
}

/// A finding where no run gets to costs nothing, and one that rests on such a line is not true: it is told only to those
/// who ask for the rule.
fn lowered(rule: &Rule, mut finding: Finding, unreached: &OnceCell<Unreached>, facts: &Facts<'_>) -> Finding {
    if finding.level == Level::Info {
        return finding;
    }
    let (often, unreached) = (asked_of(rule), unreached.get_or_init(|| facts.unreached()));
    // What a fact of another turn rests on need not happen twice itself, unless the rule speaks of batches.
    let of_facts = if often == Often::OnceATurn { often } else { Often::Never };
    // What holds of the whole program has other witnesses.
    let mut facts = finding.evidence.iter().filter(|fact| !fact.text.starts_with("this program"));
    let facts = facts.find_map(|fact| unreached.why(&fact.range, of_facts));
    if let Some(cause) = unreached.why(&finding.range, often).or(facts) {
        let text = match often {
            Often::Never => format!("not reached: {}", cause.text),
            Often::Once | Often::OnceATurn => format!("not reached, or not again: {}", cause.text),
        };
        finding.evidence.push(Evidence { range: cause.range, text });
        finding.level = Level::Info;
        finding.is_doubtful = true;
    }
    finding
}
