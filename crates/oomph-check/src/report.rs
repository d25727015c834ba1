//! How a rule says what it found.

use crate::finding::{Edit, Evidence, Finding, Fix, Level, Safety};
use crate::python::{Ranged, TextRange};
use crate::rule::Rule;
use crate::size::Size;

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

    /// Adds a finding of the rule's usual size; say more with the methods of what comes back.
    pub fn add(&mut self, place: &impl Ranged, message: impl Into<String>) -> &mut Draft {
        self.drafts.push(Draft(Finding {
            rule: self.rule.name,
            level: self.rule.level(),
            size: self.rule.size,
            is_doubtful: false,
            range: place.range(),
            cause: None,
            made_by: None,
            message: message.into(),
            evidence: Vec::new(),
            fix: None,
        }));
        let last = self.drafts.len() - 1;
        &mut self.drafts[last]
    }

    /// What was found, each at the level that follows from its size.
    #[must_use]
    pub fn into_findings(self) -> Vec<Finding> {
        let quiet = self.rule.is_opportunity;
        let decided = |Draft(mut finding): Draft| {
            let shown = !quiet && !finding.is_doubtful;
            finding.level = if shown { finding.size.level() } else { Level::Info };
            finding
        };
        self.drafts.into_iter().map(decided).collect()
    }
}

/// A finding being written.
#[derive(Debug)]
pub struct Draft(Finding);

impl Draft {
    /// Costs something else here than what the rule is usually about.
    pub fn size(&mut self, size: Size) -> &mut Self {
        self.0.size = size;
        self
    }

    /// Rests on something that is not seen: reported only where somebody asks for the rule.
    pub fn doubtful_if(&mut self, doubtful: bool) -> &mut Self {
        self.0.is_doubtful |= doubtful;
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

    /// Names the code that does it, as a fact: a finding of another rule about that code is about the same bug.
    pub fn caused_by(&mut self, place: &impl Ranged, text: impl Into<String>) -> &mut Self {
        self.0.cause = Some(place.range());
        self.because(place, text)
    }

    /// Names the code that makes what is kept here, as a fact: a finding of another rule about that code is about the same
    /// bug, at its cause.
    pub fn made_by_if(&mut self, place: Option<TextRange>, text: impl Into<String>) -> &mut Self {
        self.0.made_by = place;
        self.because_if(place, text)
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
