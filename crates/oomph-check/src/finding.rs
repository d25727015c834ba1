//! What a rule reports: where, how bad, why, and how to mend it.

use serde::Serialize;

use crate::python::{TextRange, TextSize};

/// How sure a rule is, and whether it speaks unasked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// An opportunity: reported only when the rule is selected.
    Info,
    /// Very likely costs memory: on by default.
    Warning,
    /// Certainly a bug: on by default.
    Error,
}

/// Whether a fix may be applied unasked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Safety {
    /// Results stay the same: only memory and warnings change.
    Safe,
    /// Behaviour may change: applied only when asked for.
    Unsafe,
}

/// One replacement of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced; empty for an insertion.
    pub range: TextRange,
    /// What stands there afterwards.
    pub text: String,
}

impl Edit {
    /// Puts `text` in the place of `range`.
    #[must_use]
    pub fn replace(range: TextRange, text: impl Into<String>) -> Self {
        Self { range, text: text.into() }
    }

    /// Puts `text` in at `place`.
    #[must_use]
    pub fn insert(place: TextSize, text: impl Into<String>) -> Self {
        Self { range: TextRange::empty(place), text: text.into() }
    }

    /// Takes `range` out.
    #[must_use]
    pub fn delete(range: TextRange) -> Self {
        Self { range, text: String::new() }
    }
}

/// A way to mend a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What it does, as an editor's menu would say it: "Detach the loss".
    pub title: String,
    /// Whether results stay the same.
    pub safety: Safety,
    /// All are applied or none; they do not overlap.
    pub edits: Vec<Edit>,
}

/// A fact that made a rule fire, with the place that shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Where it is seen.
    pub range: TextRange,
    /// What is seen there: "`loss` is computed here with its graph".
    pub text: String,
}

/// A memory bug in a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule's name, e.g. `loss-accumulated-with-graph`.
    pub rule: &'static str,
    /// How bad it is here; a rule may report below or above its usual level.
    pub level: Level,
    /// The code to blame.
    pub range: TextRange,
    /// One sentence: what is wrong and what it costs.
    pub message: String,
    /// The facts that made the rule fire, in the order to read them.
    pub evidence: Vec<Evidence>,
    /// How to mend it, where that can be done by machine.
    pub fix: Option<Fix>,
}
