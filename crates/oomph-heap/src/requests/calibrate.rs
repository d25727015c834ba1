//! A limit told by garbage collection.
//!
//! Garbage collection starts at a fraction of the limit, so with it a limit shows even where no request failed. The
//! limit is found by trying: a replay that collects too early ran under too low a limit, one that collects too late
//! under too high a one.

use std::cmp::Ordering;

use oomph_trace::{Action, DeviceTrace, Event, EventIndex};

use super::{LimitKind, Requests};
use crate::caching::{BEFORE_OPS, SegmentAction};
use crate::policies::policy;
use crate::replay::{Options, replay};
use crate::source::TraceSource;

/// Narrows `requests.limit` until a replay collects garbage when the recorded run did.
pub(super) fn calibrate(device: &DeviceTrace, requests: &mut Requests) {
    let threshold = requests.config.garbage_collection_threshold;
    let mut low = requests.limit.at_least_bytes;
    let mut high = requests.limit.below_bytes.unwrap_or_else(|| scaled(requests.limit.held_bytes, 1.0 / threshold));
    while low < high {
        let middle = low + (high - low) / 2;
        match compare(device, requests, middle) {
            Ordering::Equal => {
                low = middle;
                break;
            }
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
        }
    }
    requests.limit.at_least_bytes = low;
    requests.limit.kind = LimitKind::Fraction;
}

#[expect(clippy::cast_sign_loss, reason = "neither factor is negative")]
fn scaled(bytes: u64, factor: f64) -> u64 {
    (bytes as f64 * factor) as u64
}

/// Whether `limit_bytes` is too low, right or too high.
fn compare(device: &DeviceTrace, requests: &Requests, limit_bytes: u64) -> Ordering {
    let Ok(policy) = policy(requests.recorded_policy()) else { return Ordering::Equal };
    let mut source = TraceSource::of(device, None);
    let options = Options { limit_bytes: Some(limit_bytes), ..Options::default() };
    let replayed = replay(policy, requests, &mut source, &options);
    let mut recorded = device.events.iter().enumerate().filter_map(|(at, event)| Some((at, action_of(event)?, event)));
    let mut replayed_events = replayed.segment_events.iter();
    loop {
        match (recorded.next(), replayed_events.next()) {
            (None, None) => return Ordering::Equal,
            (Some((_, action, _)), None) => {
                return if action == SegmentAction::Free { Ordering::Greater } else { Ordering::Less };
            }
            (None, Some(event)) => {
                return if event.action == SegmentAction::Free { Ordering::Less } else { Ordering::Greater };
            }
            (Some((at, action, event)), Some(other)) => {
                if (action, event.bytes, event.addr) == (other.action, other.bytes, other.address) {
                    continue;
                }
                let frees = |action| action == SegmentAction::Free;
                return match (frees(action), frees(other.action)) {
                    (true, false) => Ordering::Greater,
                    (false, true) => Ordering::Less,
                    // New memory that the replay did not need shows that it kept more than the recorded run did.
                    _ => later(requests, other.op, at),
                };
            }
        }
    }
}

fn later(requests: &Requests, op: u32, at: usize) -> Ordering {
    let event = if op == BEFORE_OPS { 0 } else { requests.op_events[op as usize] };
    if event > at as EventIndex { Ordering::Greater } else { Ordering::Less }
}

fn action_of(event: &Event) -> Option<SegmentAction> {
    Some(match event.action {
        Action::SegmentAlloc => SegmentAction::Alloc,
        Action::SegmentFree => SegmentAction::Free,
        Action::SegmentMap => SegmentAction::Map,
        Action::SegmentUnmap => SegmentAction::Unmap,
        _ => return None,
    })
}
