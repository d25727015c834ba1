//! Whether the requests of a run fit another card: by replay, not by comparing sums.

use oomph_heap::{BumpSource, Config, Options, Order, Outcome, Requests, Timeline, policy, replay};
use oomph_trace::Trace;

use crate::cards::Card;

/// What one card would make of the job.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The card's name.
    pub name: String,
    /// Its memory as CUDA reports it.
    pub memory_bytes: u64,
    /// Whether every request could be served.
    pub fits: bool,
}

/// The requests of a run, by device, ready to be replayed.
pub struct Judge {
    devices: Vec<Requests>,
}

impl Judge {
    /// Takes the requests from a trace that did not run out of memory.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        let config = Config::from_settings(&trace.settings).unwrap_or_default();
        let requests = |device| Requests::of(device, &Timeline::with_config(device, &config));
        Self { devices: trace.devices.iter().map(requests).collect() }
    }

    /// Replays them through PyTorch's allocator on cards of one kind, one a device.
    #[must_use]
    pub fn judge(&self, card: &Card) -> Fit {
        let fits = self.devices.iter().all(|requests| fits(requests, card.usable_bytes()));
        Fit { name: card.name.clone(), memory_bytes: card.memory_bytes, fits }
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

    /// Ten blocks of a gigabyte, the first five of which are freed before the others come.
    #[test]
    fn what_is_cached_is_given_back_on_a_smaller_card() {
        const GIB: u64 = 1 << 30;
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
        let trace = job.finish();
        let judge = Judge::of(&trace);
        let fits = |name: &str| judge.judge(&Card::named(name).expect(name)).fits;
        // 35 GiB reserved, but never more than 20 at a time.
        assert!(fits("h200") && fits("rtx_4090"), "the allocator gives its cache back before it fails");
        assert!(!fits("t4"), "15 GiB are less than 20");
    }
}
