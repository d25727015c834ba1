//! What a rule reports: where, how bad, why, and how to mend it.

use serde::Serialize;

use crate::python::{TextRange, TextSize};
use crate::size::Size;

/// How bad a finding is, and whether it is reported unasked: [`Size::level`] decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Costs little, is doubtful, or an opportunity: reported only when the rule is selected.
    Info,
    /// Costs at least a batch or a model: on by default.
    Warning,
    /// Ends in out of memory: on by default.
    Error,
}

impl Level {
    /// Whether a check that reports at this level has failed: not for information.
    #[must_use]
    pub fn fails(self) -> bool {
        self > Self::Info
    }
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
    /// How bad it is here: by its size, or as the user chose.
    pub level: Level,
    /// What it costs.
    pub size: Size,
    /// Whether it rests on something that is not seen, or that no run gets to.
    pub is_doubtful: bool,
    /// The code to blame.
    pub range: TextRange,
    /// The code that does it, where that is not where the finding stands: the forward pass of a loop.
    pub cause: Option<TextRange>,
    /// The code that makes what is kept here.
    pub made_by: Option<TextRange>,
    /// One sentence: what is wrong and what it costs.
    pub message: String,
    /// The facts that made the rule fire, in the order to read them.
    pub evidence: Vec<Evidence>,
    /// How to mend it, where that can be done by machine.
    pub fix: Option<Fix>,
}
