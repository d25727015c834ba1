//! What a failed request needed, and what stood in its way.

use oomph_heap::{Config, OomEvent};

use crate::analyses::outside;
use crate::case::Case;

/// Who refused the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The process's own limit (`set_per_process_memory_fraction`): the driver had room.
    Limit,
    /// The driver: the card was full.
    Driver,
}

/// The account of a failed request.
#[derive(Clone, Debug)]
pub struct Shortage {
    /// The request, rounded as the allocator rounds.
    pub request_bytes: u64,
    /// What the allocator asked the driver for: a whole segment.
    pub segment_bytes: u64,
    /// Who said no.
    pub refusal: Refusal,
    /// Bytes held by live tensors.
    pub allocated_bytes: u64,
    /// Bytes held, or given back but waiting for a stream.
    pub active_bytes: u64,
    /// Bytes taken from the driver.
    pub reserved_bytes: u64,
    /// What the driver had free.
    pub device_free_bytes: u64,
    /// PyTorch surely may hold this much: it did, or the card says so.
    pub limit_bytes_min: u64,
    /// PyTorch surely may not hold this much: it was refused.
    pub limit_bytes_max: u64,
    /// Bytes on the card that PyTorch's allocator did not hold, beyond an ordinary context; 0 if unknown.
    pub outside_bytes: u64,
}

impl Shortage {
    /// Free bytes inside segments the allocator holds: room that no request could use.
    #[must_use]
    pub fn holes_bytes(&self) -> u64 {
        self.reserved_bytes.saturating_sub(self.active_bytes)
    }

    /// Bytes given back by the program that a stream still keeps.
    #[must_use]
    pub fn waiting_bytes(&self) -> u64 {
        self.active_bytes.saturating_sub(self.allocated_bytes)
    }
}

/// Works out the account of the case's failed request.
#[must_use]
pub fn shortage(case: &Case) -> Option<Shortage> {
    let oom = case.oom.as_ref()?;
    let config = case.timeline.config();
    let segment_bytes = segment_bytes(config, oom.bytes);
    let refusal = if oom.device_free_bytes >= segment_bytes { Refusal::Limit } else { Refusal::Driver };
    let (limit_bytes_min, limit_bytes_max) = limits(case, oom, segment_bytes, refusal);
    Some(Shortage {
        request_bytes: oom.bytes,
        segment_bytes,
        refusal,
        allocated_bytes: oom.books.allocated_bytes,
        active_bytes: oom.books.active_bytes,
        reserved_bytes: oom.books.reserved_bytes,
        device_free_bytes: oom.device_free_bytes,
        limit_bytes_min,
        limit_bytes_max,
        outside_bytes: if refusal == Refusal::Driver { outside::outside_bytes(case, oom) } else { 0 },
    })
}

fn segment_bytes(config: &Config, request_bytes: u64) -> u64 {
    if config.expandable_segments { request_bytes } else { config.segment_bytes(request_bytes) }
}

/// Between what is known to have worked and what is known to have failed.
fn limits(case: &Case, oom: &OomEvent, segment_bytes: u64, refusal: Refusal) -> (u64, u64) {
    if let (Some(limit), Refusal::Limit) = (case.device.limit_bytes, refusal) {
        return (limit, limit + 1);
    }
    let limit = case.requests.as_ref().map(|requests| requests.limit).unwrap_or_default();
    let refused = oom.books.reserved_bytes + segment_bytes;
    match refusal {
        Refusal::Limit => {
            let below = limit.below_bytes.map_or(refused, |below| below.min(refused));
            (limit.at_least_bytes.min(below - 1), below)
        }
        // What the driver had free counts too, to the byte.
        Refusal::Driver => {
            let room = oom.books.reserved_bytes + oom.device_free_bytes;
            (room, room + 1)
        }
    }
}
