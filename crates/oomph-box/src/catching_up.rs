//! Brings the table of live blocks up to date with the ring.
//!
//! While PyTorch holds its allocator's lock, an event is written to the ring and to its device's counters, and that is all:
//! a block's place in the table is somewhere else each time, and a processor that is busy with the job has to fetch it from
//! far away, twice a block. So the table follows some hundred events later, all of them at once, when most of their blocks
//! are gone again and the places of the rest are fetched together. The box says how far the table is; whoever reads it adds
//! what the ring says since then, so it is never behind for anybody, whenever the process ends.

use std::collections::BTreeMap;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::blocks::Blocks;
use crate::event::{self, Change};
use crate::layout::{Layout, RECORD_WORDS, word};
use crate::memory::Memory;
use crate::model::{Category, LiveBlock};
use crate::slot;
use crate::writer::Writer;

/// The table is brought up to date after so many events: 32 KiB of the ring, which are still near the processor.
pub(crate) const BATCH: u64 = 1 << 10;

/// How often a reader begins anew where the ring has gone over what it was about to read.
const ATTEMPTS: u32 = 3;

/// What event `number` does to the table of blocks; `None` where it is not there whole.
fn change_of(memory: &Memory, layout: &Layout, number: u64) -> Option<Change> {
    // The ring's size is a power of two.
    let index = number as usize & (layout.ring.records(RECORD_WORDS) - 1);
    let record = memory.record::<RECORD_WORDS>(layout.ring.start + index * RECORD_WORDS)?;
    event::change(number, record.each_ref().map(|word| word.load(Relaxed)))
}

impl Writer {
    /// Brings the table up to date; without the lock another thread is doing that.
    #[cold]
    pub(crate) fn catch_up(&self, lock: Option<MutexGuard<'_, ()>>) {
        let Some(_only_one) = lock else { return };
        let (memory, layout) = (&self.memory, &self.layout);
        let [Some(events), Some(in_table)] = [word::EVENTS, word::IN_TABLE].map(|at| memory.words().get(at)) else {
            return;
        };
        let blocks = Blocks { memory, region: layout.blocks };
        let (mut next, end) = (in_table.load(Relaxed), events.load(Acquire));
        // Another thread may be writing an event right now. It is waited for as long as the ring allows.
        let given_up_before = end.saturating_sub(layout.ring.records(RECORD_WORDS) as u64 / 2);
        while next < end {
            match change_of(memory, layout, next) {
                Some(change) => blocks.apply(next, change),
                None if next >= given_up_before => break,
                None => {}
            }
            next += 1;
        }
        in_table.store(next, Release);
    }
}

impl Blocks<'_> {
    fn apply(self, number: u64, change: Change) {
        match change {
            Change::Nothing => {}
            Change::Taken(event) => self.insert(&event, number),
            Change::FreeRequested(address) => {
                if let Some(slot) = self.find(address) {
                    slot::set_flag(slot);
                }
            }
            Change::Freed(address) => {
                if let Some(slot) = self.find(address) {
                    slot::clear(slot);
                }
            }
            Change::Tagged { address, category, module } => {
                if let Some(slot) = self.find(address) {
                    slot::tag(slot, category, module);
                }
            }
        }
    }
}

/// The live blocks by address: those of the table, and what the ring says since.
///
/// The table may be a little further than it says, where a process was killed or is at work. That makes no difference: the
/// last event of a block decides, and a block that was born after an event is left alone by it.
pub(crate) fn live_blocks(memory: &Memory, layout: &Layout) -> BTreeMap<u64, LiveBlock> {
    let load = |at: usize| memory.words().get(at).map_or(0, |word| word.load(Acquire));
    let mut blocks = BTreeMap::new();
    for _ in 0..ATTEMPTS {
        let in_table = load(word::IN_TABLE);
        blocks = of_table(memory, layout);
        let end = load(word::EVENTS);
        let oldest = end.saturating_sub(layout.ring.records(RECORD_WORDS) as u64);
        for number in in_table.max(oldest)..end {
            if let Some(change) = change_of(memory, layout, number) {
                apply(&mut blocks, number, change);
            }
        }
        // What was read last was still there.
        if in_table >= load(word::EVENTS).saturating_sub(layout.ring.records(RECORD_WORDS) as u64) {
            break;
        }
    }
    blocks
}

fn of_table(memory: &Memory, layout: &Layout) -> BTreeMap<u64, LiveBlock> {
    let mut blocks = BTreeMap::new();
    for block in (Blocks { memory, region: layout.blocks }).slots().filter_map(slot::block) {
        insert(&mut blocks, block);
    }
    blocks
}

/// Of two blocks with one address, the elder was given back unseen.
fn insert(blocks: &mut BTreeMap<u64, LiveBlock>, block: LiveBlock) {
    if blocks.get(&block.address).is_none_or(|held| held.birth < block.birth) {
        blocks.insert(block.address, block);
    }
}

fn apply(blocks: &mut BTreeMap<u64, LiveBlock>, number: u64, change: Change) {
    match change {
        Change::Nothing => {}
        Change::Taken(event) => insert(
            blocks,
            LiveBlock {
                device: event.device,
                address: event.address,
                bytes: event.bytes,
                stack: event.stack,
                lane: event.lane,
                category: Category::Unknown,
                module: 0,
                birth: number,
                free_requested: false,
            },
        ),
        Change::FreeRequested(address) => change_block(blocks, address, number, |block| block.free_requested = true),
        Change::Freed(address) => {
            if blocks.get(&address).is_some_and(|block| block.birth < number) {
                blocks.remove(&address);
            }
        }
        Change::Tagged { address, category, module } => change_block(blocks, address, number, |block| {
            block.category = category;
            block.module = module;
        }),
    }
}

/// Changes the block that was there when event `number` happened.
fn change_block(blocks: &mut BTreeMap<u64, LiveBlock>, address: u64, number: u64, change: impl FnOnce(&mut LiveBlock)) {
    if let Some(block) = blocks.get_mut(&address).filter(|block| block.birth < number) {
        change(block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Action, MemoryEvent, StackNumber};
    use crate::{BlackBox, MIN_BYTES};

    /// Does what a busy job does, and keeps beside it what is live.
    struct Job {
        writer: Writer,
        live: BTreeMap<u64, (u64, u64, Category, bool)>,
        random: u64,
    }

    impl Job {
        fn new(seed: u64) -> Self {
            Self { writer: Writer::in_memory(MIN_BYTES).expect("a box"), live: BTreeMap::new(), random: seed | 1 }
        }

        fn draw(&mut self, below: u64) -> u64 {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.random >> 33) % below
        }

        fn tell(&self, action: Action, address: u64, bytes: u64) {
            let (stack, lane) = (StackNumber(0), 0);
            self.writer.memory(&MemoryEvent { action, device: 0, address, bytes, stack, lane });
        }

        /// Something happens at one of few addresses, so that each is used again and again.
        fn go_on(&mut self) {
            let address = 0x1000 + 512 * self.draw(300);
            match (self.live.get(&address).copied(), self.draw(4)) {
                (None, _) => {
                    let (bytes, birth) = (1 + self.draw(1000), self.writer.memory.load(word::EVENTS));
                    let birth = birth + u64::from(self.is_pending());
                    self.tell(Action::Alloc, address, bytes);
                    self.live.insert(address, (bytes, birth, Category::Unknown, false));
                }
                (Some((bytes, birth, _, is_requested)), 0) => {
                    self.writer.tag(address, Category::Gradient, 7);
                    self.live.insert(address, (bytes, birth, Category::Gradient, is_requested));
                }
                (Some((bytes, birth, category, false)), 1) => {
                    self.tell(Action::FreeRequested, address, bytes);
                    self.live.insert(address, (bytes, birth, category, true));
                }
                (Some((bytes, _, _, is_requested)), _) => {
                    if !is_requested {
                        self.tell(Action::FreeRequested, address, bytes);
                    }
                    self.tell(Action::FreeCompleted, address, bytes);
                    self.live.remove(&address);
                }
            }
        }

        fn is_pending(&self) -> bool {
            crate::device::pending(&self.writer.memory, self.writer.layout.devices, 0) != 0
        }

        fn assert_is_what_a_reader_sees(&self, bytes: Vec<u8>) {
            let seen = BlackBox::from_bytes(bytes).expect("a box").live_blocks();
            let seen = seen.iter().map(|it| (it.address, (it.bytes, it.birth, it.category, it.free_requested)));
            assert_eq!(seen.collect::<BTreeMap<_, _>>(), self.live);
        }
    }

    #[test]
    fn a_reader_sees_every_event_however_far_the_table_is() {
        let mut job = Job::new(7);
        for round in 0..60 {
            for _ in 0..round * 7 {
                job.go_on();
            }
            job.assert_is_what_a_reader_sees(job.writer.to_bytes());
        }
        assert!(job.writer.memory.load(word::EVENTS) > 4 * BATCH);
        assert!(job.writer.memory.load(word::IN_TABLE) > 3 * BATCH);
    }

    #[test]
    fn a_table_that_is_further_than_it_says_makes_no_difference() {
        let mut job = Job::new(11);
        for _ in 0..9000 {
            job.go_on();
        }
        let known = job.writer.memory.load(word::IN_TABLE);
        for behind in [0, 1, 5, 100, 1000, known] {
            let mut bytes = job.writer.to_bytes();
            bytes[word::IN_TABLE * 8..][..8].copy_from_slice(&(known - behind).to_le_bytes());
            job.assert_is_what_a_reader_sees(bytes);
        }
    }

    #[test]
    fn threads_that_write_at_once_lose_no_block() {
        const BLOCKS: u64 = 4 * BATCH;
        let writer = Writer::in_memory(32 << 20).expect("a box");
        std::thread::scope(|scope| {
            for device in 0..3_u8 {
                let writer = &writer;
                scope.spawn(move || {
                    let event = |action, number: u64| MemoryEvent {
                        action,
                        device,
                        address: (u64::from(device) + 1) << 40 | (number + 1) << 9,
                        bytes: number,
                        stack: StackNumber(0),
                        lane: 0,
                    };
                    for number in 0..BLOCKS {
                        writer.memory(&event(Action::Alloc, number));
                        if number % 4 != 0 {
                            writer.memory(&event(Action::FreeRequested, number));
                            writer.memory(&event(Action::FreeCompleted, number));
                        }
                    }
                });
            }
        });
        let seen = BlackBox::from_bytes(writer.to_bytes()).expect("a box").live_blocks();
        assert_eq!(seen.len() as u64, 3 * BLOCKS / 4);
        assert!(seen.iter().all(|block| block.bytes % 4 == 0));
        assert!(writer.memory.load(word::IN_TABLE) > 3 * BLOCKS);
    }
}
