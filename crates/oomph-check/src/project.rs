//! All files of a run together, so that what one defines is known in the others.

use crate::analysis::analyse;
use crate::facts::Facts;
use crate::finding::Finding;
use crate::report::Report;
use crate::selection::Selection;
use crate::source::Source;

/// The files checked in one run; one alone is a project too.
#[derive(Debug)]
pub struct Project {
    sources: Vec<Source>,
}

impl Project {
    /// Puts files together. Names that are paths let imports between them be followed.
    #[must_use]
    pub fn new(sources: Vec<Source>) -> Self {
        Self { sources }
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
    for (rule, choice) in selection.of(index).running() {
        let mut report = Report::new(rule);
        (rule.check)(facts, &mut report);
        findings.extend(report.into_findings().into_iter().filter_map(|finding| choice.apply(finding)));
    }
    findings.sort_by_key(|finding| (finding.range.start(), finding.range.end(), finding.rule));
    findings.dedup_by_key(|finding| (finding.range, finding.rule));
    findings
}
