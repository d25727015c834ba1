//! Who is to blame: one class, one line, the bytes, and a proof.
//!
//! Each class is one file: its page of documentation, and an accusation that looks at the [`Evidence`] and says how
//! many bytes it can account for. The accusation that accounts for most wins; a class that applies only when nothing
//! else does says so by its rank.

mod delayed_free;
pub(crate) mod fragmentation;
mod growth;
mod host_out_of_memory;
pub(crate) mod leak;
mod none;
mod other_process;
mod outside_pytorch;
mod request_too_large;
mod too_big;

use std::cmp::Reverse;

use oomph_heap::BlockId;
use oomph_trace::StackId;

use crate::analyses::fragmentation::Fragmentation;
use crate::analyses::peak::Holders;
use crate::analyses::retention::Retention;
use crate::analyses::shortage::Shortage;
use crate::case::Case;
use crate::proof::{self, Proof};
use crate::source::Line;

/// What every class may look at.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// The job.
    pub case: &'a Case<'a>,
    /// The failed request's account, if one failed.
    pub shortage: Option<&'a Shortage>,
    /// What is kept from iteration to iteration.
    pub retained: &'a [Retention],
    /// How the segments were filled.
    pub fragmentation: &'a Fragmentation,
    /// Who held the bytes.
    pub holders: &'a Holders,
}

/// How one class explains the case.
#[derive(Clone, Debug)]
pub struct Accusation {
    /// The class's name.
    pub class: &'static str,
    /// The sentence.
    pub summary: String,
    /// The user's line to blame, where there is one.
    pub line: Option<Line>,
    /// The stack behind that line.
    pub stack: StackId,
    /// The bytes accused.
    pub bytes: u64,
    /// What must be gone for the request to fit.
    pub remove: Remove,
    /// What the user can do, most useful first.
    pub advice: Vec<String>,
}

/// What a counterfactual leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remove {
    /// Nothing failed, so there is nothing to prove.
    Nothing,
    /// These blocks.
    Blocks(Vec<BlockId>),
    /// The failed request itself.
    Request,
    /// The holes: the same requests through an allocator that has none.
    Holes,
    /// What others hold: the same requests with so many bytes more.
    Others(u64),
    /// The wait of freed blocks for their streams.
    Waits,
}

/// One class of verdict.
pub trait Class: Sync {
    /// Its name, as in `--json`.
    fn name(&self) -> &'static str;
    /// One sentence on what it means.
    fn summary(&self) -> &'static str;
    /// Its page of documentation, in Markdown.
    fn page(&self) -> &'static str;
    /// Its explanation of the case, if it has one.
    fn accuse(&self, evidence: &Evidence) -> Option<Accusation>;
    /// What the user can do, where that depends on how the proof came out.
    fn advise(&self, _evidence: &Evidence, _proof: &Proof) -> Option<Vec<String>> {
        None
    }
    /// Whether the job is right and only takes too much, so that remedies can make it fit.
    fn is_helped_by_remedies(&self) -> bool {
        false
    }
    /// Classes of a higher rank are asked first; within a rank the most bytes win.
    fn rank(&self) -> u32;
}

/// Every class, in the order they are documented.
pub const CLASSES: &[&dyn Class] = &[
    &request_too_large::RequestTooLarge,
    &too_big::TooBig,
    &growth::Growth,
    &leak::Leak,
    &fragmentation::Fragmentation,
    &delayed_free::DelayedFree,
    &outside_pytorch::OutsidePytorch,
    &other_process::OtherProcess,
    &host_out_of_memory::HostOutOfMemory,
    &none::None,
];

/// The accusation that stood, and its proof.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// What is said.
    pub accusation: Accusation,
    /// Why it is believed; `None` where nothing failed.
    pub proof: Option<Proof>,
}

impl Accusation {
    /// Whether the job is right and only takes too much, so that remedies can make it fit.
    #[must_use]
    pub fn is_helped_by_remedies(&self) -> bool {
        CLASSES.iter().any(|class| class.name() == self.class && class.is_helped_by_remedies())
    }
}

/// Hears every class and decides.
#[must_use]
pub fn judge(evidence: &Evidence) -> Verdict {
    let mut accusations: Vec<(&dyn Class, Accusation)> =
        CLASSES.iter().filter_map(|&class| class.accuse(evidence).map(|accusation| (class, accusation))).collect();
    // Stable: classes that account for equally much stand in their documented order.
    accusations.sort_by_key(|(class, accusation)| (Reverse(class.rank()), Reverse(accusation.bytes)));
    let mut proven = accusations.into_iter().map(|(class, mut accusation)| {
        let proof = proof::prove(evidence, &accusation);
        if let Some(advice) = proof.as_ref().and_then(|proof| class.advise(evidence, proof)) {
            accusation.advice = advice;
        }
        Verdict { accusation, proof }
    });
    let first = proven.next().unwrap_or_else(|| Verdict { accusation: none::nothing_known(evidence), proof: None });
    if stands(&first) {
        return first;
    }
    // An accusation whose proof fails is not made, unless no other does better.
    proven.find(stands).unwrap_or(first)
}

fn stands(verdict: &Verdict) -> bool {
    verdict.proof.as_ref().is_none_or(|proof| proof.fits_without)
}
