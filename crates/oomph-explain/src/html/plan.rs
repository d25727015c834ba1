//! What the page of a plan shows before everything else. The command fills it in; the page computes nothing.

use serde::Serialize;

use super::input::{BytesOf, ModuleRow};

/// The answer of a plan, ready to be shown.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PlanPage {
    /// What a search for remedies came to; everything else is about the job as it is.
    pub fitted: Option<FittedPage>,
    /// The answer in one sentence, e.g. `Fits the RTX 4090: ...`. Why it does not fit is not part of it: the page shows
    /// the verdict right below.
    pub sentence: String,
    /// Whether the job fits the card it was planned on.
    pub fits: bool,
    /// The card as people call it, e.g. `RTX 4090`.
    pub card_title: String,
    /// All of the card's memory.
    pub capacity_bytes: u64,
    /// What the job takes of a card when there is room, the CUDA context included; `None` where it could not be found
    /// out.
    pub roomy_bytes: Option<u64>,
    /// The least memory of a card that the job runs in, the CUDA context included; `None` where it could not be found
    /// out.
    pub least_bytes: Option<u64>,
    /// How much of the job was run, e.g. `3 of 1,250 training steps, 3 of 40 validation batches, 2 of 10 epochs`.
    pub seen: String,
    /// What grows although it fits, in one sentence.
    pub growth: Option<String>,
    /// Cards and whether the job fits them; the page shows the smallest first.
    pub cards: Vec<CardRow>,
    /// When `categories` and `modules` were measured, e.g. `at the peak, in the backward pass of step 2`.
    pub peak_moment: String,
    /// What was allocated then, by category, in the order they are shown.
    pub categories: Vec<BytesOf>,
    /// What was allocated then, by module of the model, largest first.
    pub modules: Vec<ModuleRow>,
    /// What a plan cannot know, one sentence each; empty where everything is known.
    pub unknown: Vec<String>,
    /// What the reader can do, most useful first.
    pub advice: Vec<String>,
    /// The command that makes this plan again.
    pub command_line: String,
    /// What it was made with, e.g. `torch 2.11.0, CUDA 13.0, Python 3.11`; may be empty.
    pub environment: String,
}

/// What was found that makes a job fit.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FittedPage {
    /// The answer in one sentence.
    pub sentence: String,
    /// Whether something was found.
    pub fits: bool,
    /// Everything that was tried, in order.
    pub tried: Vec<TriedRow>,
}

/// A set of remedies that was tried.
#[derive(Clone, Debug, Serialize)]
pub struct TriedRow {
    /// The set in words, e.g. `lazy_logits + checkpoint_blocks 12`.
    pub remedies: String,
    /// What it takes of a card where there is room; `None` where it could not be run.
    pub peak_bytes: Option<u64>,
    /// By what the time of a step is multiplied, about.
    pub slowdown: f64,
    /// Whether it fits.
    pub fits: bool,
}

/// One card and whether the job fits it.
#[derive(Clone, Debug, Serialize)]
pub struct CardRow {
    /// The name `--gpu` takes.
    pub name: String,
    /// All of its memory.
    pub capacity_bytes: u64,
    /// Whether the job fits.
    pub fit: CardFit,
    /// Whether the job was run on this card; otherwise its requests were replayed with the card's memory.
    pub planned: bool,
}

/// Whether a job fits a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum CardFit {
    /// It does.
    #[serde(rename = "fits")]
    Fits,
    /// It does not.
    #[serde(rename = "does not fit")]
    DoesNotFit,
    /// Too close for a replay to tell: only a plan on this card can.
    #[serde(rename = "close")]
    Close,
}
