//! Whether the requests of a run fit another card: by replay, not by comparing sums.

use oomph_card::Card;
use oomph_heap::{BumpSource, Config, Options, Order, Outcome, Requests, Timeline, policy, replay};
use oomph_trace::Trace;

/// A replay lays blocks out as PyTorch's allocator would, but the same job takes other workspaces on another card.
/// Where so much more or less memory would change the answer, only a run on that card can tell.
const CLOSE_PERCENT: u64 = 3;
/// The least memory is looked for to one of so many parts of it.
const LEAST_PARTS: u64 = 1000;

/// What is known about a card without running the job on it, the worse the larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Every request could be served.
    Fits,
    /// Too close to tell from another card's run.
    Close,
    /// Some request could not be served.
    DoesNotFit,
}

/// What one card would make of the job.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The card's name.
    pub name: String,
    /// Its memory as CUDA reports it.
    pub memory_bytes: u64,
    /// Whether the job fits.
    pub verdict: Verdict,
}

/// The requests of a run, by device, ready to be replayed.
pub struct Judge {
    devices: Vec<Requests>,
    /// What tensors need at the very least, on the device that needs most.
    peak_allocated_bytes: u64,
    /// What was reserved where there was room, likewise.
    peak_reserved_bytes: u64,
}

impl Judge {
    /// Takes the requests from a trace that did not run out of memory.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        let config = Config::from_settings(&trace.settings).unwrap_or_default();
        let mut judge = Self { devices: Vec::new(), peak_allocated_bytes: 0, peak_reserved_bytes: 0 };
        for device in &trace.devices {
            let timeline = Timeline::with_config(device, &config);
            judge.peak_allocated_bytes = judge.peak_allocated_bytes.max(timeline.peak_allocated.bytes);
            judge.peak_reserved_bytes = judge.peak_reserved_bytes.max(timeline.peak_reserved.bytes);
            judge.devices.push(Requests::of(device, &timeline));
        }
        judge
    }

    /// Replays them through PyTorch's allocator on cards of one kind, one a device, of each of which libraries take something
    /// beside it.
    #[must_use]
    pub fn judge(&self, card: &Card, libraries_bytes: u64) -> Verdict {
        let usable = card.usable_bytes().saturating_sub(libraries_bytes);
        let close = usable / 100 * CLOSE_PERCENT;
        if self.fits(usable - close) {
            Verdict::Fits
        } else if self.fits(usable + close) {
            Verdict::Close
        } else {
            Verdict::DoesNotFit
        }
    }

    /// The least memory of a card on which every request is served, where the context and libraries take so much of it.
    #[must_use]
    pub fn least_bytes(&self, outside_bytes: u64) -> Option<u64> {
        let (mut too_little, mut enough) = (self.peak_allocated_bytes.saturating_sub(1), self.peak_reserved_bytes);
        if !self.fits(enough) {
            return None;
        }
        while enough - too_little > enough / LEAST_PARTS + 1 {
            let middle = u64::midpoint(too_little, enough);
            if self.fits(middle) {
                enough = middle;
            } else {
                too_little = middle;
            }
        }
        Some(enough + outside_bytes)
    }

    /// Whether every request is served where PyTorch can have so much.
    #[must_use]
    pub fn fits(&self, capacity_bytes: u64) -> bool {
        // Sums settle what is far from the limit.
        if capacity_bytes < self.peak_allocated_bytes {
            return false;
        }
        self.devices.iter().all(|requests| fits(requests, capacity_bytes))
    }
}

fn fits(requests: &Requests, capacity_bytes: u64) -> bool {
    let Ok(policy) = policy(requests.recorded_policy()) else { return false };
    let options = Options { limit_bytes: None, stop_at_oom: true, request_ghosts: true };
    let mut source = BumpSource::new(Order::Ascending, Some(capacity_bytes));
    matches!(replay(policy, requests, &mut source, &options).outcome, Outcome::Ok)
}

#[cfg(test)]
mod tests {
    use oomph_trace::{Origin, TraceBuilder};

    use super::*;

    const GIB: u64 = 1 << 30;

    /// Ten blocks, the first five of which are freed before the others come: 35 GiB reserved, never more than 20 live.
    fn judge() -> Judge {
        let mut job = TraceBuilder::new(Origin::HollowRun);
        for at in 1..=5 {
            job.segment_alloc(at * 4 * GIB, 3 * GIB, &[]).alloc(at * 4 * GIB, 3 * GIB, &[]);
        }
        for at in 1..=5 {
            job.free(at * 4 * GIB, 3 * GIB, &[]);
        }
        for at in 6..=10 {
            job.segment_alloc(at * 8 * GIB, 4 * GIB, &[]).alloc(at * 8 * GIB, 4 * GIB, &[]);
        }
        Judge::of(&job.finish())
    }

    #[test]
    fn what_is_cached_is_given_back_on_a_smaller_card() {
        let judge = judge();
        let verdict = |name: &str| judge.judge(&Card::named(name).expect(name), 0);
        assert_eq!((verdict("h200"), verdict("rtx_4090")), (Verdict::Fits, Verdict::Fits));
        assert_eq!(verdict("t4"), Verdict::DoesNotFit, "15 GiB are less than 20");
    }

    #[test]
    fn the_least_is_what_was_live_and_close_to_it_nobody_can_tell() {
        let judge = judge();
        let mut card = Card::named("h200").expect("h200");
        let least = judge.least_bytes(GIB).expect("found") - GIB;
        assert!((20 * GIB..20 * GIB + GIB / 20).contains(&least), "{least}");
        card.memory_bytes = card.context_bytes + 20 * GIB;
        assert_eq!(judge.judge(&card, 0), Verdict::Close);
        assert_eq!(judge.judge(&card, 2 * GIB), Verdict::DoesNotFit, "what libraries take is not PyTorch's");
    }
}
