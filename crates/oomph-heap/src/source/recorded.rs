//! The driver's choices taken from a trace.

use std::collections::{BTreeMap, VecDeque};

use oomph_trace::{Action, DeviceTrace, Event};

use super::{BumpSource, Order, SegmentRequest, Source};

/// Hands out the addresses the driver chose in a recorded run, in the order it chose them.
///
/// As long as a replay asks for what the recorded run asked for, it gets exactly the recorded addresses. Once it
/// asks for something else (another policy, blocks taken away) it gets the next recorded address of the same size
/// that is free, and failing that an address by the rule of [`BumpSource`].
#[derive(Clone, Debug)]
pub struct TraceSource {
    /// `segment_alloc`s as (address, bytes), oldest first.
    obtained: Vec<(u64, u64)>,
    /// Which of those were handed out, and from where on some were not.
    used: Vec<bool>,
    first_unused: usize,
    /// Where expandable segments began, oldest first.
    reservations: VecDeque<u64>,
    /// What is owned, by address.
    owned: BTreeMap<u64, u64>,
    beyond: BumpSource,
    capacity_bytes: u64,
    used_bytes: u64,
}

impl TraceSource {
    /// The recorded choices on a card where the allocator can take at most `capacity_bytes`.
    #[must_use]
    pub fn of(device: &DeviceTrace, capacity_bytes: Option<u64>) -> Self {
        let usable = |event: &&Event| event.addr.checked_add(event.bytes).is_some();
        let obtained = device.events.iter().filter(|event| event.action == Action::SegmentAlloc).filter(usable);
        let obtained: Vec<_> = obtained.map(|event| (event.addr, event.bytes)).collect();
        Self {
            used: vec![false; obtained.len()],
            obtained,
            first_unused: 0,
            reservations: reservation_starts(device).into(),
            owned: BTreeMap::new(),
            beyond: BumpSource::new(Order::Ascending, None),
            capacity_bytes: capacity_bytes.unwrap_or(u64::MAX),
            used_bytes: 0,
        }
    }

    fn take(&mut self, bytes: u64) -> bool {
        let used = self.used_bytes.saturating_add(bytes);
        let fits = used <= self.capacity_bytes;
        if fits {
            self.used_bytes = used;
        }
        fits
    }

    fn is_free(&self, address: u64, bytes: u64) -> bool {
        let Some(end) = address.checked_add(bytes) else { return false };
        let below = self.owned.range(..end).next_back();
        below.is_none_or(|(&start, &length)| start + length <= address)
    }

    /// The next recorded address of this size that is free. A trace that has gone other ways may leave many unused
    /// entries behind, so the search looks only a little ahead.
    fn next_recorded(&mut self, bytes: u64) -> Option<u64> {
        const LOOK_AHEAD: usize = 64;
        while self.used.get(self.first_unused) == Some(&true) {
            self.first_unused += 1;
        }
        let window = self.first_unused..self.obtained.len().min(self.first_unused + LOOK_AHEAD);
        let found = window.into_iter().find(|&at| {
            let (address, length) = self.obtained[at];
            !self.used[at] && length == bytes && self.is_free(address, bytes)
        })?;
        self.used[found] = true;
        Some(self.obtained[found].0)
    }
}

/// Reservations are larger than the card, so mappings this close belong together.
const REACH_BYTES: u64 = 1 << 33;

/// Bytes of the card as far as the distance between expandable segments tells: each reserves the card's bytes and an
/// eighth more, and the driver puts them side by side.
pub(crate) fn card_from_reservations(device: &DeviceTrace, unit_bytes: u64) -> Option<u64> {
    let mut starts = reservation_starts(device);
    starts.sort_unstable();
    starts.dedup();
    let distances = starts.windows(2).map(|pair| pair[1] - pair[0]);
    let distance = distances.filter(|&distance| distance > REACH_BYTES).min()?;
    Some(distance.saturating_sub(unit_bytes) / 9 * 8)
}

/// Where each expandable segment of a trace began: a mapping that does not continue one already there. An address
/// range counts as one segment until all of it was unmapped.
fn reservation_starts(device: &DeviceTrace) -> Vec<u64> {
    // By stream and start: where the mappings end, and how much is mapped.
    let mut open: BTreeMap<(u64, u64), (u64, u64)> = BTreeMap::new();
    let mut starts = Vec::new();
    for event in &device.events {
        let own = open.range((event.stream, 0)..=(event.stream, event.addr)).next_back();
        let near = own.map(|(&start, &(end, mapped))| (start, end, mapped));
        let near = near.filter(|&(_, end, _)| event.addr <= end.saturating_add(REACH_BYTES));
        match (event.action, near) {
            (Action::SegmentMap, Some((start, end, mapped))) => {
                open.insert(
                    start,
                    (end.max(event.addr.saturating_add(event.bytes)), mapped.saturating_add(event.bytes)),
                );
            }
            (Action::SegmentMap, None) => {
                // A history that begins late may show the middle of a segment before its beginning.
                let above = open.range((event.stream, event.addr)..=(event.stream, u64::MAX)).next();
                if above.is_none_or(|(&(_, start), _)| start - event.addr > REACH_BYTES) {
                    starts.push(event.addr);
                }
                open.insert((event.stream, event.addr), (event.addr.saturating_add(event.bytes), event.bytes));
            }
            (Action::SegmentUnmap, Some((start, end, mapped))) => {
                if mapped <= event.bytes {
                    open.remove(&start);
                } else {
                    open.insert(start, (end, mapped - event.bytes));
                }
            }
            _ => {}
        }
    }
    starts
}

impl Source for TraceSource {
    fn obtain(&mut self, request: SegmentRequest) -> Option<u64> {
        if !self.take(request.bytes) {
            return None;
        }
        let address = self.next_recorded(request.bytes).or_else(|| self.beyond.obtain(request));
        match address {
            Some(address) => drop(self.owned.insert(address, request.bytes)),
            None => self.used_bytes -= request.bytes,
        }
        address
    }

    fn release(&mut self, address: u64, bytes: u64) {
        self.used_bytes = self.used_bytes.saturating_sub(bytes);
        self.owned.remove(&address);
        self.beyond.release(address, bytes);
    }

    fn reserve_addresses(&mut self, request: SegmentRequest) -> u64 {
        while let Some(address) = self.reservations.pop_front() {
            if self.is_free(address, request.bytes) {
                self.owned.insert(address, request.bytes);
                return address;
            }
        }
        let address = self.beyond.reserve_addresses(request);
        self.owned.insert(address, request.bytes);
        address
    }

    fn release_addresses(&mut self, address: u64, bytes: u64) {
        self.owned.remove(&address);
        self.beyond.release_addresses(address, bytes);
    }

    fn map(&mut self, _address: u64, bytes: u64) -> bool {
        self.take(bytes)
    }

    fn unmap(&mut self, _address: u64, bytes: u64) {
        self.used_bytes = self.used_bytes.saturating_sub(bytes);
    }

    fn adopt(&mut self, address: u64, bytes: u64) {
        self.used_bytes = self.used_bytes.saturating_add(bytes);
        self.owned.insert(address, bytes);
    }
}
