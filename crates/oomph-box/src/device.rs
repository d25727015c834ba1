//! What a box keeps of each device.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::layout::{DEVICE_WORDS, MAX_DEVICES, Region};
use crate::memory::Memory;
use crate::model::{Action, DeviceState, Stats};

/// The words of a device.
pub(crate) mod field {
    /// Not 0 once anything but its events is known of the device.
    pub(crate) const KNOWN: usize = 0;
    pub(crate) const UUID: usize = 1;
    pub(crate) const TOTAL: usize = 3;
    pub(crate) const LIMIT: usize = 4;
    pub(crate) const STATS: usize = 8;
    /// From here on what nearly every event touches, on one cache line.
    pub(crate) const REQUESTED: usize = 16;
    pub(crate) const REQUESTED_PEAK: usize = 17;
    /// A free that was asked for and is written with the next event: its address.
    pub(crate) const PENDING: usize = 18;
    pub(crate) const PENDING_BYTES: usize = 19;
    /// Its stack and lane.
    pub(crate) const PENDING_PLACE: usize = 20;
    /// By number of the action: those of blocks come first and end the line.
    pub(crate) const COUNTS: usize = 21;
    pub(crate) const RESERVED: usize = 40;
    pub(crate) const RESERVED_PEAK: usize = 41;
}

/// Numbers of [`Stats`], in their order.
pub(crate) const STATS_COUNT: usize = 8;

/// The words of one device.
pub(crate) type Words = [AtomicU64; DEVICE_WORDS];

/// The words of a device, if the box has room for it.
#[inline]
pub(crate) fn words(memory: &Memory, region: Region, ordinal: u8) -> Option<&Words> {
    if usize::from(ordinal) >= MAX_DEVICES {
        return None;
    }
    memory.record::<DEVICE_WORDS>(region.start + usize::from(ordinal) * DEVICE_WORDS)
}

/// Adds to an amount and moves its peak, which stands in the next word. Only one thread at a time does this for a
/// device: its allocator's lock is held.
#[inline]
pub(crate) fn grow(words: &Words, at: usize, bytes: u64) {
    if let Some([now, peak]) = words.get(at..at + 2).and_then(<[_]>::as_array) {
        let value = now.load(Relaxed).wrapping_add(bytes);
        now.store(value, Relaxed);
        if value > peak.load(Relaxed) {
            peak.store(value, Relaxed);
        }
    }
}

/// Takes from an amount.
#[inline]
pub(crate) fn shrink(words: &Words, at: usize, bytes: u64) {
    if let Some(now) = words.get(at) {
        now.store(now.load(Relaxed).saturating_sub(bytes), Relaxed);
    }
}

/// Counts an action.
#[inline]
pub(crate) fn count(words: &Words, action: Action) {
    if let Some(count) = words.get(field::COUNTS + action as usize) {
        count.store(count.load(Relaxed) + 1, Relaxed);
    }
}

/// The address of a block whose free was asked for and is not in the ring yet, or 0.
pub(crate) fn pending(memory: &Memory, region: Region, ordinal: u8) -> u64 {
    words(memory, region, ordinal).map_or(0, |words| words[field::PENDING].load(Relaxed))
}

/// What is known of a device; `None` if nothing is.
pub(crate) fn read(memory: &Memory, region: Region, ordinal: u8) -> Option<DeviceState> {
    let words = words(memory, region, ordinal)?;
    let load = |at: usize| words.get(at).map_or(0, |word| word.load(Relaxed));
    let counts: [u64; Action::ALL.len()] = std::array::from_fn(|index| load(field::COUNTS + index));
    if load(field::KNOWN) == 0 && counts.iter().all(|&count| count == 0) {
        return None;
    }
    let mut uuid = [0; 16];
    let halves = [load(field::UUID), load(field::UUID + 1)].map(u64::to_le_bytes);
    uuid.copy_from_slice(halves.as_flattened());
    let stats: [u64; STATS_COUNT] = std::array::from_fn(|index| load(field::STATS + index));
    Some(DeviceState {
        ordinal,
        uuid,
        total_bytes: load(field::TOTAL),
        limit_bytes: load(field::LIMIT),
        requested_bytes: load(field::REQUESTED),
        requested_peak_bytes: load(field::REQUESTED_PEAK),
        reserved_bytes: load(field::RESERVED),
        reserved_peak_bytes: load(field::RESERVED_PEAK),
        counts,
        stats: Stats::from_numbers(stats),
    })
}

impl Stats {
    /// From numbers in the order of the fields.
    #[must_use]
    pub fn from_numbers(numbers: [u64; STATS_COUNT]) -> Self {
        let [
            allocated_bytes,
            allocated_peak_bytes,
            reserved_bytes,
            reserved_peak_bytes,
            retries,
            ooms,
            free_bytes,
            pinned_bytes,
        ] = numbers;
        Self {
            allocated_bytes,
            allocated_peak_bytes,
            reserved_bytes,
            reserved_peak_bytes,
            retries,
            ooms,
            free_bytes,
            pinned_bytes,
        }
    }

    /// The numbers in the order of the fields.
    #[must_use]
    pub fn to_numbers(self) -> [u64; STATS_COUNT] {
        [
            self.allocated_bytes,
            self.allocated_peak_bytes,
            self.reserved_bytes,
            self.reserved_peak_bytes,
            self.retries,
            self.ooms,
            self.free_bytes,
            self.pinned_bytes,
        ]
    }
}
