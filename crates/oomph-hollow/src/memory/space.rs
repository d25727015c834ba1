//! Addresses: which ones a request gets.
//!
//! The rule is what recorded drivers do: addresses come in chunks of 32 MiB, each new run of chunks right below the
//! last; a request takes the smallest gap that holds it (the lowest of several), from the gap's start, before new
//! chunks are opened. PyTorch's allocator breaks ties between equal blocks by address, so this order shows.

use std::collections::{BTreeMap, BTreeSet};

/// Free stretches of addresses, found by size and by address in logarithmic time.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    by_start: BTreeMap<u64, u64>,
    by_size: BTreeSet<(u64, u64)>,
}

impl Gaps {
    pub(crate) const fn new() -> Self {
        Self { by_start: BTreeMap::new(), by_size: BTreeSet::new() }
    }

    /// Takes `bytes` from the start of the smallest gap that holds them.
    pub(crate) fn take(&mut self, bytes: u64) -> Option<u64> {
        let &(gap_bytes, start) = self.by_size.range((bytes, 0)..).next()?;
        self.remove_gap(start, gap_bytes);
        self.insert_gap(start + bytes, gap_bytes - bytes);
        Some(start)
    }

    /// Makes addresses free, joined to the gaps beside them.
    pub(crate) fn add(&mut self, start: u64, bytes: u64) {
        let (mut from, mut to) = (start, start + bytes);
        if let Some((&left, &left_bytes)) = self.by_start.range(..start).next_back()
            && left + left_bytes == start
        {
            self.remove_gap(left, left_bytes);
            from = left;
        }
        if let Some(&right_bytes) = self.by_start.get(&to) {
            self.remove_gap(to, right_bytes);
            to += right_bytes;
        }
        self.insert_gap(from, to - from);
    }

    /// Takes away addresses that lie in one gap.
    pub(crate) fn cut(&mut self, start: u64, bytes: u64) {
        if let Some((&gap, &gap_bytes)) = self.by_start.range(..=start).next_back()
            && start + bytes <= gap + gap_bytes
        {
            self.remove_gap(gap, gap_bytes);
            self.insert_gap(gap, start - gap);
            self.insert_gap(start + bytes, gap + gap_bytes - start - bytes);
        }
    }

    fn insert_gap(&mut self, start: u64, bytes: u64) {
        if bytes > 0 {
            self.by_start.insert(start, bytes);
            self.by_size.insert((bytes, start));
        }
    }

    fn remove_gap(&mut self, start: u64, bytes: u64) {
        self.by_start.remove(&start);
        self.by_size.remove(&(bytes, start));
    }
}

/// The addresses of one device, reserved from the operating system once.
#[derive(Debug)]
pub(crate) struct Space {
    gaps: Gaps,
    start: u64,
    end: u64,
    /// Where the lowest chunk opened so far begins.
    floor: u64,
}

/// What the driver opens addresses by.
const CHUNK_BYTES: u64 = 32 << 20;

impl Space {
    pub(crate) fn new(start: u64, bytes: u64) -> Self {
        Self { gaps: Gaps::new(), start, end: start + bytes, floor: start + bytes }
    }

    /// An address for `bytes`, a multiple of the page size.
    pub(crate) fn take(&mut self, bytes: u64) -> Option<u64> {
        if let Some(address) = self.gaps.take(bytes) {
            return Some(address);
        }
        let opened = bytes.checked_next_multiple_of(CHUNK_BYTES)?;
        self.floor = self.floor.checked_sub(opened).filter(|&floor| floor >= self.start)?;
        self.gaps.insert_gap(self.floor + bytes, opened - bytes);
        Some(self.floor)
    }

    pub(crate) fn give_back(&mut self, address: u64, bytes: u64) {
        self.gaps.add(address, bytes);
    }

    pub(crate) fn holds(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn small_requests_fill_a_chunk_and_chunks_go_down() {
        let mut space = Space::new(0, 1 << 40);
        let first = space.take(2 * MIB).unwrap();
        assert_eq!(first, (1 << 40) - 32 * MIB);
        assert_eq!(space.take(20 * MIB).unwrap(), first + 2 * MIB);
        assert_eq!(space.take(40 * MIB).unwrap(), first - 64 * MIB);
        // 24 MiB are left above the 40, 10 MiB above the 22.
        assert_eq!(space.take(2 * MIB).unwrap(), first + 22 * MIB);
        assert_eq!(space.take(20 * MIB).unwrap(), first - 24 * MIB);
    }

    #[test]
    fn freed_neighbours_become_one_gap() {
        let mut gaps = Gaps::new();
        gaps.add(0, 10);
        gaps.add(20, 10);
        assert_eq!(gaps.take(30), None);
        gaps.add(10, 10);
        assert_eq!(gaps.take(30), Some(0));
        assert_eq!(gaps.take(1), None);
    }

    #[test]
    fn a_stretch_can_be_cut_out() {
        let mut gaps = Gaps::new();
        gaps.add(0, 100);
        gaps.cut(40, 20);
        assert_eq!(gaps.take(41), None);
        assert_eq!(gaps.take(40), Some(0));
        assert_eq!(gaps.take(40), Some(60));
    }

    #[test]
    fn a_space_ends() {
        let mut space = Space::new(0, 64 * MIB);
        assert!(space.take(40 * MIB).is_some());
        assert_eq!(space.take(40 * MIB), None);
        assert_eq!(space.take(u64::MAX), None);
    }
}
