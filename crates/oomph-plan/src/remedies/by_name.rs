//! Remedies that are put in by name only: they make another model of it.

use super::{Mathematics, Remedy, RemedyChoice, Situation};
use crate::search::Spans;

/// A remedy that no search tries by itself.
pub(super) struct ByName {
    name: &'static str,
    summary: &'static str,
    page: &'static str,
    mathematics: Mathematics,
    changes: &'static str,
}

pub(super) const LORA: ByName = ByName {
    name: "lora",
    summary: "low-rank matrices trained beside the model's linear layers, which stay as they are",
    page: include_str!("lora.md"),
    mathematics: Mathematics::Model,
    changes: "another model: only low-rank matrices are trained",
};
pub(super) const QUANTIZE: ByName = ByName {
    name: "quantize",
    summary: "weights of linear layers in 8 or 4 bits, for inference",
    page: include_str!("quantize.md"),
    mathematics: Mathematics::Model,
    changes: "another model: weights are rounded to few bits",
};
pub(super) const PRUNE: ByName = ByName {
    name: "prune",
    summary: "a share of the channels taken out of every layer that allows it, then fine-tuned",
    page: include_str!("prune.md"),
    mathematics: Mathematics::Model,
    changes: "another model: with fewer channels",
};
pub(super) const DISTILL: ByName = ByName {
    name: "distill",
    summary: "a smaller student that learns from a teacher which keeps no graph",
    page: include_str!("distill.md"),
    mathematics: Mathematics::Model,
    changes: "another model: a student",
};

impl Remedy for ByName {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn page(&self) -> &'static str {
        self.page
    }

    fn mathematics(&self) -> Mathematics {
        self.mathematics
    }

    fn choices(&self, _job: &Situation) -> Vec<RemedyChoice> {
        Vec::new()
    }

    fn sketch(&self, _choice: &RemedyChoice, _job: &Situation, _spans: &mut Spans) {}

    fn slowdown(&self, _choice: &RemedyChoice, _job: &Situation) -> f64 {
        1.0
    }

    fn changes(&self, _choice: &RemedyChoice) -> String {
        self.changes.to_owned()
    }
}
