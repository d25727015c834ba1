//! The counterfactual: the same requests with the accused bytes gone, replayed through the recorded allocator.

use oomph_heap::{BlockId, BumpSource, Op, Options, Order, Outcome, Requests, Source, TraceSource, policy, replay};

use crate::analyses::shortage::{Refusal, Shortage};
use crate::bytes::show;
use crate::verdict::{Accusation, Evidence, Remove};

/// Why an accusation is believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The placement policy of the counterfactual replay.
    pub policy: &'static str,
    /// The request that failed.
    pub request_bytes: u64,
    /// Whether it fits without the accused bytes.
    pub fits_without: bool,
    /// What was done, in words.
    pub text: String,
}

/// Replays the case without what is accused; `None` where nothing failed.
#[must_use]
pub fn prove(evidence: &Evidence, accusation: &Accusation) -> Option<Proof> {
    let shortage = evidence.shortage?;
    let experiment = Experiment::of(evidence, shortage)?;
    let limit = show(shortage.limit_bytes_min);
    let request = show(shortage.request_bytes);
    let accused = show(accusation.bytes);
    let (policy, fits_without, text) = match &accusation.remove {
        Remove::Nothing => return None,
        Remove::Blocks(ids) => {
            let (policy, fits) = experiment.without_blocks(ids);
            (policy, fits, format!("without those {accused}, the request for {request} {} in {limit}", fit(fits)))
        }
        Remove::Waits => {
            let (policy, fits) = experiment.without_waits();
            let text = format!("had those {accused} not waited, the request for {request} {} in {limit}", would(fits));
            (policy, fits, text)
        }
        Remove::Holes => {
            let (policy, fits) = experiment.without_holes();
            let verb = if fits { "fit" } else { "do not fit" };
            (policy, fits, format!("the same requests, with the one for {request}, {verb} in {limit}"))
        }
        Remove::Request => {
            let (policy, alone) = experiment.on_an_empty_card();
            let text =
                format!("even with every other tensor gone, the request for {request} {} in {limit}", fit(alone));
            // The accused bytes are the request itself: the rest of the job ran.
            (policy, !alone, text)
        }
        Remove::Others(bytes) => {
            let (policy, fits) = experiment.with_more_room(*bytes);
            (policy, fits, format!("with those {accused} free, the request for {request} {}", would(fits)))
        }
    };
    let label = if fits_without { "Proof" } else { "Not proved" };
    let how =
        if policy == COUNTING { "added up without any holes".to_owned() } else { format!("replayed with {policy}") };
    let text = format!("{label} ({how}): {text}.");
    Some(Proof { policy, request_bytes: shortage.request_bytes, fits_without, text })
}

/// The policy that places nothing: what it serves was only added up.
const COUNTING: &str = "ideal";

fn fit(fits: bool) -> &'static str {
    if fits { "fits" } else { "does not fit" }
}

fn would(fits: bool) -> &'static str {
    if fits { "would fit" } else { "would not fit" }
}

/// The requests up to the failure, and the limit they are replayed under.
struct Experiment<'a> {
    evidence: &'a Evidence<'a>,
    requests: Requests,
    /// The largest limit that is known to hold: if it fits under this, it fits under the real one.
    limit_bytes: u64,
    refusal: Refusal,
}

impl<'a> Experiment<'a> {
    fn of(evidence: &'a Evidence<'a>, shortage: &Shortage) -> Option<Self> {
        let case = evidence.case;
        let requests = case.requests.as_ref()?.until(case.moment);
        Some(Self { evidence, requests, limit_bytes: shortage.limit_bytes_min, refusal: shortage.refusal })
    }

    fn without_blocks(&self, ids: &[BlockId]) -> (&'static str, bool) {
        let mut gone = vec![false; self.requests.block_count()];
        for &id in ids {
            gone[id as usize] = true;
        }
        let requests = self.requests.without(&|block| gone[block as usize]);
        self.run(&requests, self.requests.recorded_policy(), self.limit_bytes)
    }

    /// Through an allocator that has fewer holes; where that one has them too, only counting is left.
    fn without_holes(&self) -> (&'static str, bool) {
        if !self.requests.recorded_expandable() {
            let (policy, fits) = self.run(&self.requests, "expandable_segments", self.limit_bytes);
            if fits {
                return (policy, true);
            }
        }
        let packed = self.evidence.shortage.map_or(0, |shortage| shortage.active_bytes + shortage.request_bytes);
        (COUNTING, packed <= self.limit_bytes)
    }

    fn with_more_room(&self, bytes: u64) -> (&'static str, bool) {
        self.run(&self.requests, self.requests.recorded_policy(), self.limit_bytes.saturating_add(bytes))
    }

    fn without_waits(&self) -> (&'static str, bool) {
        let mut requests = self.requests.clone();
        requests.ops.clear();
        requests.op_events.clear();
        for (op, &event) in self.requests.ops.iter().zip(&self.requests.op_events) {
            match *op {
                Op::Complete { .. } => {}
                Op::Free { block } => {
                    requests.ops.extend([Op::Free { block }, Op::Complete { block }]);
                    requests.op_events.extend([event, event]);
                }
                other => {
                    requests.ops.push(other);
                    requests.op_events.push(event);
                }
            }
        }
        self.run(&requests, self.requests.recorded_policy(), self.limit_bytes)
    }

    /// Everything else gone: only the request that failed remains.
    fn on_an_empty_card(&self) -> (&'static str, bool) {
        let mut requests = self.requests.without(&|block| !self.requests.failed(block));
        let last = requests.ops.iter().rposition(|op| matches!(op, Op::Alloc { .. }));
        requests.ops = last.map(|at| requests.ops[at]).into_iter().collect();
        requests.op_events.truncate(requests.ops.len());
        requests.initial.clear();
        self.run(&requests, self.requests.recorded_policy(), self.limit_bytes)
    }

    /// Whether the last request, the one that failed, is served. Failures before it were caught and are part of the
    /// history.
    fn run(&self, requests: &Requests, name: &str, limit_bytes: u64) -> (&'static str, bool) {
        let Ok(policy) = policy(name) else { return ("", false) };
        let recorded = name == self.requests.recorded_policy();
        let capacity = (self.refusal == Refusal::Driver).then_some(limit_bytes);
        let mut traced = TraceSource::of(self.evidence.case.device, capacity);
        let mut fresh = BumpSource::new(Order::Driver, capacity);
        let source: &mut dyn Source = if recorded { &mut traced } else { &mut fresh };
        let options = Options { limit_bytes: Some(limit_bytes), ..Options::default() };
        let outcome = replay(policy, requests, source, &options);
        let last = requests.ops.len().saturating_sub(1) as u32;
        let failed = match outcome.outcome {
            Outcome::Ok => false,
            Outcome::Oom(_) => outcome.ooms.iter().any(|oom| oom.op == last),
        };
        (policy.page().name, !failed)
    }
}
