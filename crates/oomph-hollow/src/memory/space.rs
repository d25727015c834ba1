//! Addresses: which ones a request gets.
//!
//! PyTorch's allocator breaks ties between equal blocks by address, so the order of addresses shows in the peaks. The
//! rule is what the driver of an H200 does, found in the addresses of 150 recorded runs:
//!
//! - Addresses come in arenas, multiples of 32 MiB. A request takes the lowest gap of any arena that holds it, from the
//!   gap's start; only if there is none a new arena is opened.
//! - An arena that is empty goes back to the operating system. A new one lies at the end of the highest hole that has
//!   32 MiB to spare, else below all others.
//! - The first arenas are the driver's own ([`Own`]), with room for others in them.
//!
//! Not modelled: holes that the program's own use of the host's address space leaves above the first arena.

use std::collections::BTreeMap;

use super::gaps::Gaps;

const MIB: u64 = 1 << 20;

/// What the driver opens addresses by.
const CHUNK_BYTES: u64 = 32 * MIB;

/// What the driver itself has: its first two arenas, with room for others in both.
///
/// On an H200 the lower one holds the stacks of kernels, 414 MiB; 2 MiB are left over. The higher one has 128 MiB, of
/// which 24 in the middle are free. The stacks grow to 506 MiB, and so move to another arena, once a module is loaded
/// that can call the system ([`Space::grow_stacks`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Own {
    stacks_bytes: u64,
    large_stacks_bytes: u64,
}

/// The higher of the driver's arenas, and where the gap in it begins and ends.
const HIGHER_BYTES: u64 = 128 * MIB;
const HIGHER_GAP: (u64, u64) = (72 * MIB, 96 * MIB);

impl Own {
    /// Stacks grow with the number of multiprocessors: the sizes were measured for 132.
    pub(crate) fn of_card(sms: u32) -> Self {
        let scaled = |mib: u64| (mib * MIB * u64::from(sms) / 132).next_multiple_of(2 * MIB);
        Self { stacks_bytes: scaled(414), large_stacks_bytes: scaled(506) }
    }
}

/// Addresses reserved from the operating system together.
#[derive(Debug)]
struct Arena {
    bytes: u64,
    gaps: Gaps,
}

/// The addresses of one device, reserved from the operating system once.
#[derive(Debug)]
pub(crate) struct Space {
    start: u64,
    end: u64,
    /// Where the lowest arena begins.
    floor: u64,
    arenas: BTreeMap<u64, Arena>,
    /// Between arenas.
    holes: Gaps,
    own: Own,
    /// Where the stacks lie until they grow.
    stacks: Option<u64>,
}

impl Space {
    pub(crate) fn new(start: u64, bytes: u64, own: Own) -> Self {
        let end = (start + bytes) / CHUNK_BYTES * CHUNK_BYTES;
        let mut space = Self { start, end, floor: end, arenas: BTreeMap::new(), holes: Gaps::new(), own, stacks: None };
        // A space too small for them belongs to no real card.
        if let Some(higher) = space.open(HIGHER_BYTES, HIGHER_BYTES) {
            space.give_back(higher + HIGHER_GAP.0, HIGHER_GAP.1 - HIGHER_GAP.0);
        }
        space.stacks = space.take_for_stacks(own.stacks_bytes);
        space
    }

    /// An address for `bytes`, a multiple of the page size.
    pub(crate) fn take(&mut self, bytes: u64) -> Option<u64> {
        if let Some(address) = self.arenas.values_mut().find_map(|arena| arena.gaps.take_lowest(bytes)) {
            return Some(address);
        }
        self.open(bytes, bytes.checked_next_multiple_of(CHUNK_BYTES)?)
    }

    /// Opens an arena and takes `bytes` from its start.
    fn open(&mut self, bytes: u64, arena_bytes: u64) -> Option<u64> {
        let start = if let Some(start) = self.holes.take_highest(arena_bytes, CHUNK_BYTES) {
            start
        } else {
            self.floor = self.floor.checked_sub(arena_bytes).filter(|&floor| floor >= self.start)?;
            self.floor
        };
        let mut gaps = Gaps::new();
        gaps.add(start + bytes, arena_bytes - bytes);
        self.arenas.insert(start, Arena { bytes: arena_bytes, gaps });
        Some(start)
    }

    pub(crate) fn give_back(&mut self, address: u64, bytes: u64) {
        let Some((&start, arena)) = self.arenas.range_mut(..=address).next_back() else { return };
        arena.gaps.add(address, bytes);
        let arena_bytes = arena.bytes;
        if !arena.gaps.is_all(start, arena_bytes) {
            return;
        }
        self.arenas.remove(&start);
        self.holes.add(start, arena_bytes);
        if let Some(hole_bytes) = self.holes.take_at(self.floor) {
            self.floor += hole_bytes;
        }
    }

    fn take_for_stacks(&mut self, bytes: u64) -> Option<u64> {
        self.open(bytes, bytes.next_multiple_of(CHUNK_BYTES))
    }

    /// Stacks grow, once: they move, and leave room where they were.
    pub(crate) fn grow_stacks(&mut self) {
        let Some(address) = self.stacks.take() else { return };
        self.take_for_stacks(self.own.large_stacks_bytes);
        self.give_back(address, self.own.stacks_bytes);
    }

    pub(crate) fn holds(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An H200 whose driver has no room left, and where its arenas begin.
    fn full() -> (Space, u64) {
        let mut space = Space::new(0, 1 << 40, Own::of_card(132));
        space.take(2 * MIB).unwrap();
        space.take(24 * MIB).unwrap();
        let base = space.floor;
        (space, base)
    }

    #[test]
    fn the_lowest_gap_is_filled_and_arenas_go_down() {
        let (mut space, base) = full();
        let mut at = |mib: u64| (space.take(mib * MIB).unwrap() as i64 - base as i64) / MIB as i64;
        assert_eq!(at(20), -32);
        assert_eq!(at(148), -192);
        assert_eq!(at(20), -224);
        // Not the gap of 12 MiB that is exact: the lowest.
        assert_eq!(at(2), -204);
        assert_eq!(at(12), -44);
        assert_eq!(at(10), -202);
    }

    /// From runs on an H200: a block beside what moves out keeps the arena, so that its room is filled from its start.
    #[test]
    fn the_driver_leaves_room_in_its_arenas() {
        let mut space = Space::new(0, 1 << 40, Own::of_card(132));
        let base = space.floor;
        let at = |space: &mut Space, mib: u64| (space.take(mib * MIB).unwrap() as i64 - base as i64) / MIB as i64;
        let before = [40, 20, 2, 2, 20, 2, 20].map(|mib| at(&mut space, mib));
        assert_eq!(before, [-64, -24, -4, -2, 488, 414, -96]);
        space.grow_stacks();
        let after = [20, 64, 32, 20].map(|mib| at(&mut space, mib));
        assert_eq!(after, [0, 20, 84, 116]);
    }

    /// From runs on an H200: else the arena goes back whole, and new ones are opened in its place, from its end.
    #[test]
    fn what_the_driver_leaves_can_go_back_whole() {
        let mut space = Space::new(0, 1 << 40, Own::of_card(132));
        let base = space.floor;
        let at = |space: &mut Space, mib: u64| (space.take(mib * MIB).unwrap() as i64 - base as i64) / MIB as i64;
        let before = [148, 20, 2].map(|mib| at(&mut space, mib));
        assert_eq!(before, [-160, 488, -12]);
        space.grow_stacks();
        let after = [18, 64, 32, 20].map(|mib| at(&mut space, mib));
        assert_eq!(after, [384, 320, 288, 256]);
    }

    #[test]
    fn an_empty_arena_is_a_hole_which_one_with_room_to_spare_may_reuse() {
        let (mut space, base) = full();
        let [first, second, _third] = [20, 90, 20].map(|mib| space.take(mib * MIB).unwrap());
        space.give_back(first, 20 * MIB);
        space.give_back(second, 90 * MIB);
        // A hole of 128 MiB is left at the top: not for 128, but for 96, at its end.
        assert_eq!(space.take(128 * MIB), Some(base - 288 * MIB));
        assert_eq!(space.take(70 * MIB), Some(base - 96 * MIB));
    }

    #[test]
    fn a_space_ends() {
        let mut space = Space::new(0, 64 * MIB, Own::of_card(132));
        assert!(space.take(40 * MIB).is_some());
        assert_eq!(space.take(40 * MIB), None);
        assert_eq!(space.take(u64::MAX), None);
    }
}
