//! How a rule says what it found.

use crate::finding::{Edit, Evidence, Finding, Fix, Level, Safety};
use crate::python::{Ranged, TextRange};
use crate::rule::Rule;

/// Collects the findings of one rule in one file.
#[derive(Debug)]
pub struct Report {
    rule: &'static Rule,
    drafts: Vec<Draft>,
}

impl Report {
    /// An empty report for a rule.
    #[must_use]
    pub fn new(rule: &'static Rule) -> Self {
        Self { rule, drafts: Vec::new() }
    }

    /// Adds a finding at the rule's usual level; say more with the methods of what comes back.
    pub fn add(&mut self, place: &impl Ranged, message: impl Into<String>) -> &mut Draft {
        self.drafts.push(Draft(Finding {
            rule: self.rule.name,
            level: self.rule.level,
            range: place.range(),
            message: message.into(),
            evidence: Vec::new(),
            fix: None,
        }));
        let last = self.drafts.len() - 1;
        &mut self.drafts[last]
    }

    /// What was found.
    #[must_use]
    pub fn into_findings(self) -> Vec<Finding> {
        self.drafts.into_iter().map(|draft| draft.0).collect()
    }
}

/// A finding being written.
#[derive(Debug)]
pub struct Draft(Finding);

impl Draft {
    /// Reports at another level than the rule's usual one.
    pub fn level(&mut self, level: Level) -> &mut Self {
        self.0.level = level;
        self
    }

    /// Names a fact that made the rule fire.
    pub fn because(&mut self, place: &impl Ranged, text: impl Into<String>) -> &mut Self {
        self.0.evidence.push(Evidence { range: place.range(), text: text.into() });
        self
    }

    /// The same for a fact whose place may be unknown.
    pub fn because_if(&mut self, place: Option<TextRange>, text: impl Into<String>) -> &mut Self {
        if let Some(range) = place {
            self.because(&range, text);
        }
        self
    }

    /// Offers a fix that never changes results.
    pub fn safe_fix(&mut self, title: impl Into<String>, edits: Vec<Edit>) -> &mut Self {
        self.fix(Safety::Safe, title, edits)
    }

    /// Offers a fix that may change behaviour.
    pub fn unsafe_fix(&mut self, title: impl Into<String>, edits: Vec<Edit>) -> &mut Self {
        self.fix(Safety::Unsafe, title, edits)
    }

    fn fix(&mut self, safety: Safety, title: impl Into<String>, edits: Vec<Edit>) -> &mut Self {
        if !edits.is_empty() {
            self.0.fix = Some(Fix { title: title.into(), safety, edits });
        }
        self
    }
}
