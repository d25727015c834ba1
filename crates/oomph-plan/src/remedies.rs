//! What makes a job take less memory: one file a remedy. Here it says what it needs, what it would do and what it
//! costs; what it does is done inside the job, in `python/oomph/remedies`.

mod autocast;
mod bf16_weights;
mod bounded_loaders;
mod by_name;
mod checkpoint_blocks;
mod chunk_calls;
mod chunk_evaluation;
mod fsdp;
mod lazy_logits;
mod lean_optimizer;
mod message_parts;
mod micro_batches;
mod offload_activations;
mod optimizer_on_host;
mod outputs_to_host;
mod quantized_optimizer;
mod recompute_unused_graphs;
mod small_workspaces;
mod step_in_backward;

use oomph_card::Card;
use oomph_trace::EventIndex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::search::{Span, Spans, Work};
use crate::survey::Survey;

/// Every remedy, in the order in which those that cost the same are tried.
pub const REMEDIES: [&dyn Remedy; 22] = [
    &lean_optimizer::LeanOptimizer,
    &lazy_logits::LazyLogits,
    &small_workspaces::SmallWorkspaces,
    &recompute_unused_graphs::RecomputeUnusedGraphs,
    &outputs_to_host::OutputsToHost,
    &chunk_evaluation::ChunkEvaluation,
    &step_in_backward::StepInBackward,
    &micro_batches::MicroBatches,
    &checkpoint_blocks::CheckpointBlocks,
    &chunk_calls::ChunkCalls,
    &message_parts::MessageParts,
    &offload_activations::OffloadActivations,
    &optimizer_on_host::OptimizerOnHost,
    &bounded_loaders::BoundedLoaders,
    &autocast::Autocast,
    &bf16_weights::Bf16Weights,
    &quantized_optimizer::QuantizedOptimizer,
    &fsdp::Fsdp,
    &by_name::LORA,
    &by_name::QUANTIZE,
    &by_name::PRUNE,
    &by_name::DISTILL,
];

/// The remedy of a name.
#[must_use]
pub fn remedy(name: &str) -> Option<&'static dyn Remedy> {
    REMEDIES.into_iter().find(|remedy| remedy.name() == name)
}

/// What a remedy may do to the numbers that a job computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mathematics {
    /// Nothing: the same sums, in another order at most.
    Same,
    /// Rounds otherwise.
    Numerics,
    /// Computes something else: another model.
    Model,
}

/// A remedy with its options, as the job is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemedyChoice {
    /// Which one.
    pub name: String,
    /// How.
    #[serde(flatten)]
    pub options: Map<String, Value>,
}

impl RemedyChoice {
    /// A remedy as it comes.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), options: Map::new() }
    }

    /// The same with an option.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.options.insert(key.to_owned(), value.into());
        self
    }

    /// Reads `NAME` or `NAME:KEY=VALUE,KEY=VALUE`; values that are no JSON are words.
    ///
    /// # Errors
    /// If there is no such remedy, or an option has no value.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let known = remedy(&name.replace('-', "_")).ok_or_else(|| format!("there is no remedy {name:?}"))?;
        let mut choice = Self::new(known.name());
        for option in options.split(',').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').ok_or_else(|| format!("{option:?} has no value"))?;
            let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
            choice = choice.with(key, value);
        }
        Ok(choice)
    }

    /// A number among its options.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<u64> {
        self.options.get(key)?.as_u64()
    }

    /// A word among its options.
    #[must_use]
    pub fn word(&self, key: &str) -> Option<&str> {
        self.options.get(key)?.as_str()
    }
}

/// A call that does by hand what a remedy does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ByHand {
    /// With the model, before its optimizer is made: a function of `oomph`, and what follows the model.
    Model(&'static str, String),
    /// With the optimizer, right after it is made.
    Optimizer(&'static str, String),
}

/// Parts of parts: what several remedies that divide batches come to on top of themselves.
fn more_parts(before: &RemedyChoice, choice: &RemedyChoice) -> RemedyChoice {
    let parts = |choice: &RemedyChoice| choice.number("parts").unwrap_or(1);
    choice.clone().with("parts", parts(before) * parts(choice))
}

/// A job as it was last measured.
pub struct Situation<'a> {
    /// What it is made of.
    pub survey: &'a Survey,
    /// Its blocks.
    pub spans: &'a Spans,
    /// What its steps do.
    pub work: &'a Work,
    /// The card.
    pub card: &'a Card,
    /// What each iteration of a loop leaves behind, where that fills the card before the loop's end.
    pub growth_bytes: u64,
    /// How many cards it is divided over.
    pub cards: u32,
    /// When most is live: found once, because every remedy asks on every look.
    peak_at: EventIndex,
}

impl<'a> Situation<'a> {
    /// A job whose run showed these blocks and this work.
    #[must_use]
    pub fn new(survey: &'a Survey, spans: &'a Spans, work: &'a Work, card: &'a Card, growth_bytes: u64) -> Self {
        Self { survey, spans, work, card, growth_bytes, cards: 1, peak_at: spans.peak().1 }
    }

    /// The same, where what it shows is one of several processes with a card each.
    #[must_use]
    pub fn on_cards(self, cards: u32) -> Self {
        Self { cards, ..self }
    }

    /// What is live at the peak.
    pub fn live_at_peak(&self) -> impl Iterator<Item = &Span> {
        self.spans.live_at(self.peak_at)
    }
}

/// Something that makes a job take less memory.
pub trait Remedy: Sync {
    /// What `oomph doc` and plan files call it.
    fn name(&self) -> &'static str;
    /// One sentence, without capital and full stop.
    fn summary(&self) -> &'static str;
    /// Its page.
    fn page(&self) -> &'static str;
    /// What it does to the numbers.
    fn mathematics(&self) -> Mathematics {
        Mathematics::Same
    }
    /// The ways to try it on this job, the mildest first; none where it cannot help.
    fn choices(&self, job: &Situation) -> Vec<RemedyChoice>;
    /// Remedies that it cannot be combined with.
    fn excludes(&self) -> &'static [&'static str] {
        &[]
    }
    /// Whether it stops memory from growing from iteration to iteration.
    fn stops_growth(&self) -> bool {
        false
    }
    /// What to run where a choice is to come on top of one that the job already has.
    fn on_top_of(&self, _before: &RemedyChoice, choice: &RemedyChoice) -> RemedyChoice {
        choice.clone()
    }
    /// Changes the blocks on paper to what they would be.
    fn sketch(&self, choice: &RemedyChoice, job: &Situation, spans: &mut Spans);
    /// By what the time of a step is multiplied, about.
    fn slowdown(&self, choice: &RemedyChoice, job: &Situation) -> f64;
    /// The same as a line of the user's own script; none where one line will not do.
    fn by_hand(&self, _choice: &RemedyChoice, _survey: &Survey) -> Option<ByHand> {
        None
    }
    /// What it changes, for the reader: a phrase.
    fn changes(&self, choice: &RemedyChoice) -> String;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_pages_are_theirs() {
        for remedy in REMEDIES {
            assert!(remedy.page().starts_with(&format!("# {}\n", remedy.name())), "{}", remedy.name());
            assert_eq!(REMEDIES.iter().filter(|other| other.name() == remedy.name()).count(), 1);
            assert!(super::remedy(remedy.name()).is_some());
        }
    }

    #[test]
    fn options_are_read_with_their_types() {
        let choice = RemedyChoice::parse("lora:rank=8,targets=[\"a\"],how=fast").expect("a remedy");
        let expected = RemedyChoice::new("lora").with("rank", 8).with("targets", vec!["a"]).with("how", "fast");
        assert_eq!(choice, expected);
        assert_eq!(RemedyChoice::parse("chunk-calls"), Ok(RemedyChoice::new("chunk_calls")));
        assert!(RemedyChoice::parse("lorra").is_err() && RemedyChoice::parse("lora:rank").is_err());
    }

    #[test]
    fn a_choice_is_read_as_it_is_written() {
        let choice = RemedyChoice::new("micro_batches").with("parts", 4);
        let text = serde_json::to_string(&choice).expect("plain data");
        assert_eq!(text, r#"{"name":"micro_batches","parts":4}"#);
        assert_eq!(serde_json::from_str::<RemedyChoice>(&text).expect("ours"), choice);
    }
}
