//! Addresses: which ones a request gets.
//!
//! PyTorch's allocator breaks ties between equal blocks by address, so the order of addresses shows in the peaks. The
//! rule is what the driver of an H200 does, found in the addresses of 150 recorded runs and in the calls that it makes to
//! the operating system:
//!
//! - Addresses come in arenas, multiples of 32 MiB. A request takes the lowest gap that holds it of the arena that was
//!   opened last among those that have one, from the gap's start; only if there is none a new arena is opened.
//! - The operating system says where a new arena lies ([`Source`]), as it does for the program's own memory: what the
//!   host has freed, such as weights that were copied to the device, is filled again from above. An arena that is empty
//!   goes back to it.
//! - The first arenas are the driver's own ([`Own`]), with room for others in them.

use super::gaps::Gaps;
use super::host;

const MIB: u64 = 1 << 20;

/// What the driver opens addresses by.
const CHUNK_BYTES: u64 = 32 * MIB;

/// What the driver itself has: its first arenas, with room for others in two of them.
///
/// On an H200 the first is full, the second has 96 MiB of which the last 24 are free. The third holds the stacks of
/// kernels, 414 MiB; 2 MiB are left over. The stacks grow to 506 MiB, and so move to another arena, once a module is
/// loaded that can call the system ([`Space::grow_stacks`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Own {
    stacks_bytes: u64,
    large_stacks_bytes: u64,
}

/// For so many threads were the sizes of stacks measured.
const THREADS_OF_AN_H200: u64 = 132 * 2048;

/// What the driver takes from its first two arenas, and how large those are.
const OWN_BYTES: [(u64, u64); 2] = [(32 * MIB, 32 * MIB), (72 * MIB, 96 * MIB)];

impl Own {
    /// Every thread that the card holds at a time has a stack.
    pub(crate) fn of_threads(resident_threads: u64) -> Self {
        let scaled = |mib: u64| (mib * MIB * resident_threads / THREADS_OF_AN_H200).next_multiple_of(2 * MIB);
        Self { stacks_bytes: scaled(414), large_stacks_bytes: scaled(506) }
    }
}

/// Where arenas come from.
pub(crate) trait Source {
    /// Addresses that begin at a multiple of `alignment_bytes`.
    fn reserve(&mut self, bytes: u64, alignment_bytes: u64) -> Option<u64>;

    /// Takes addresses back that [`Source::reserve`] gave.
    fn release(&mut self, start: u64, bytes: u64);
}

/// The addresses of this process.
#[derive(Debug)]
pub(crate) struct OperatingSystem;

impl Source for OperatingSystem {
    fn reserve(&mut self, bytes: u64, alignment_bytes: u64) -> Option<u64> {
        host::reserve(bytes, alignment_bytes)
    }

    fn release(&mut self, start: u64, bytes: u64) {
        host::unmap(start, bytes);
    }
}

/// Addresses reserved from the operating system together.
#[derive(Debug)]
struct Arena {
    start: u64,
    bytes: u64,
    gaps: Gaps,
}

impl Arena {
    fn holds(&self, address: u64) -> bool {
        address.checked_sub(self.start).is_some_and(|offset| offset < self.bytes)
    }
}

/// The addresses of one device.
#[derive(Debug)]
pub(crate) struct Space<S = OperatingSystem> {
    source: S,
    /// In the order in which they were opened.
    arenas: Vec<Arena>,
    own: Own,
    /// Where the stacks lie until they grow.
    stacks: Option<u64>,
}

impl<S: Source> Space<S> {
    pub(crate) fn new(source: S, own: Own) -> Self {
        let mut space = Self { source, arenas: Vec::new(), own, stacks: None };
        // Where there are no addresses for these, requests will fail, and say so.
        for (bytes, arena_bytes) in OWN_BYTES {
            space.open(bytes, arena_bytes);
        }
        space.stacks = space.take_for_stacks(own.stacks_bytes);
        space
    }

    /// An address for `bytes`, a multiple of the page size.
    pub(crate) fn take(&mut self, bytes: u64) -> Option<u64> {
        if let Some(address) = self.arenas.iter_mut().rev().find_map(|arena| arena.gaps.take_lowest(bytes)) {
            return Some(address);
        }
        self.open(bytes, bytes.checked_next_multiple_of(CHUNK_BYTES)?)
    }

    /// Opens an arena and takes `bytes` from its start.
    fn open(&mut self, bytes: u64, arena_bytes: u64) -> Option<u64> {
        let start = self.source.reserve(arena_bytes, CHUNK_BYTES)?;
        let mut gaps = Gaps::new();
        gaps.add(start + bytes, arena_bytes - bytes);
        self.arenas.push(Arena { start, bytes: arena_bytes, gaps });
        Some(start)
    }

    pub(crate) fn give_back(&mut self, address: u64, bytes: u64) {
        let mut arenas = self.arenas.iter_mut().enumerate();
        let Some((index, arena)) = arenas.find(|(_, arena)| arena.holds(address)) else { return };
        arena.gaps.add(address, bytes);
        if arena.gaps.is_all(arena.start, arena.bytes) {
            let empty = self.arenas.remove(index);
            self.source.release(empty.start, empty.bytes);
        }
    }

    fn take_for_stacks(&mut self, bytes: u64) -> Option<u64> {
        self.open(bytes, bytes.next_multiple_of(CHUNK_BYTES))
    }

    /// Stacks grow, once: they move, and leave room where they were.
    pub(crate) fn grow_stacks(&mut self) {
        let Some(address) = self.stacks.take() else { return };
        self.give_back(address, self.own.stacks_bytes);
        self.take_for_stacks(self.own.large_stacks_bytes);
    }

    pub(crate) fn holds(&self, address: u64) -> bool {
        self.arenas.iter().any(|arena| arena.holds(address))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Addresses given out from above, as the operating system does it.
    struct TopDown {
        end: u64,
        taken: BTreeMap<u64, u64>,
    }

    impl TopDown {
        fn of(end: u64) -> Self {
            Self { end, taken: BTreeMap::new() }
        }
    }

    impl Source for TopDown {
        fn reserve(&mut self, bytes: u64, alignment_bytes: u64) -> Option<u64> {
            let with_room = bytes.checked_add(alignment_bytes)? - 4096;
            let ends = self.taken.iter().rev().map(|(&start, &bytes)| start + bytes).chain([0]);
            let starts = [self.end].into_iter().chain(self.taken.keys().rev().copied());
            let (hole, _) = starts.zip(ends).find(|(above, below)| above - below >= with_room)?;
            let start = (hole - bytes) / alignment_bytes * alignment_bytes;
            self.taken.insert(start, bytes);
            Some(start)
        }

        fn release(&mut self, start: u64, bytes: u64) {
            assert_eq!(self.taken.remove(&start), Some(bytes));
        }
    }

    fn lowest(space: &Space<TopDown>) -> u64 {
        space.arenas.iter().map(|arena| arena.start).min().unwrap()
    }

    fn fresh() -> Space<TopDown> {
        Space::new(TopDown::of(1 << 40), Own::of_threads(THREADS_OF_AN_H200))
    }

    /// An H200 whose driver has no room left, and where its arenas begin.
    fn full() -> (Space<TopDown>, u64) {
        let mut space = fresh();
        space.take(2 * MIB).unwrap();
        space.take(24 * MIB).unwrap();
        let base = lowest(&space);
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
        let mut space = fresh();
        let base = lowest(&space);
        let at =
            |space: &mut Space<TopDown>, mib: u64| (space.take(mib * MIB).unwrap() as i64 - base as i64) / MIB as i64;
        let before = [40, 20, 2, 2, 20, 2, 20].map(|mib| at(&mut space, mib));
        assert_eq!(before, [-64, -24, -4, -2, 488, 414, -96]);
        space.grow_stacks();
        let after = [20, 64, 32, 20].map(|mib| at(&mut space, mib));
        assert_eq!(after, [0, 20, 84, 116]);
    }

    /// From runs on an H200: else the arena goes back whole, and new ones are opened in its place, from its end.
    #[test]
    fn what_the_driver_leaves_can_go_back_whole() {
        let mut space = fresh();
        let base = lowest(&space);
        let at =
            |space: &mut Space<TopDown>, mib: u64| (space.take(mib * MIB).unwrap() as i64 - base as i64) / MIB as i64;
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

    /// From runs on an H200: weights that the host gave up leave a hole above the first arenas. What is opened there is
    /// used before older arenas that lie lower.
    #[test]
    fn what_the_host_frees_is_filled_from_above_and_used_first() {
        let weights = (1 << 40) - 512 * MIB;
        let mut source = TopDown::of(1 << 40);
        source.taken.insert(weights, 512 * MIB);
        let mut space = Space::new(source, Own::of_threads(THREADS_OF_AN_H200));
        let base = lowest(&space);
        let at =
            |space: &mut Space<TopDown>, mib: u64| (space.take(mib * MIB).unwrap() as i64 - base as i64) / MIB as i64;
        assert_eq!([1002, 16, 20].map(|mib| at(&mut space, mib)), [-1024, -22, 488]);
        space.source.release(weights, 512 * MIB);
        let above = 416 + 128 + 512;
        assert_eq!([16, 64, 2].map(|mib| at(&mut space, mib)), [above - 32, above - 96, above - 16]);
    }

    /// Arenas where a real driver got them.
    struct Recorded(std::vec::IntoIter<(u64, u64)>);

    impl Source for Recorded {
        fn reserve(&mut self, bytes: u64, _alignment_bytes: u64) -> Option<u64> {
            let (start, recorded_bytes) = self.0.next()?;
            assert_eq!(bytes, recorded_bytes);
            Some(start)
        }

        fn release(&mut self, _start: u64, _bytes: u64) {}
    }

    /// A Llama of a billion parameters on an H200: what its driver asked of the operating system, and the address that
    /// each of 315 requests got. The host had given up weights above and below the first arenas.
    #[test]
    fn a_recorded_run_gets_the_same_addresses() {
        let calls = include_str!("../../../../corpus/h200/extra_plan/driver_calls.jsonl");
        let calls: Vec<serde_json::Value> = calls.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let address = |call: &serde_json::Value| ((1 << 20) + call["at_mib"].as_i64().unwrap()) as u64 * MIB;
        let bytes = |call: &serde_json::Value, field: &str| call[field].as_u64().map(|mib| mib * MIB);
        let opened = |call: &serde_json::Value| bytes(call, "open_mib").map(|bytes| (address(call), bytes));
        let arenas: Vec<_> = calls.iter().filter_map(opened).collect();
        let mut space = Space::new(Recorded(arenas.into_iter()), Own::of_threads(THREADS_OF_AN_H200));
        let mut requests = 0;
        for call in &calls {
            if call["grow"] == true {
                space.grow_stacks();
            } else if let Some(bytes) = bytes(call, "take_mib") {
                requests += 1;
                assert_eq!(space.take(bytes), Some(address(call)), "request {requests}, {call}");
            }
        }
        assert_eq!(requests, 315);
    }

    #[test]
    fn a_space_ends() {
        let mut space = Space::new(TopDown::of(640 * MIB), Own::of_threads(THREADS_OF_AN_H200));
        assert!(space.take(40 * MIB).is_some());
        assert_eq!(space.take(40 * MIB), None);
        assert_eq!(space.take(u64::MAX), None);
    }
}
