//! What an allocator does, written to the ring, the tables and the counters of a box.

use std::sync::atomic::Ordering::Relaxed;

use crate::clock;
use crate::device::{self, field};
use crate::event;
use crate::host;
use crate::layout::{RECORD_WORDS, word};
use crate::model::{Action, DeviceState, HOST, HostState, MemoryEvent, Stats};
use crate::slot;
use crate::writer::Writer;

impl Writer {
    /// Something happened to a device's memory, now. Only one thread at a time may say so of one device.
    pub fn memory(&self, event: &MemoryEvent) {
        self.memory_at(event, clock::ticks());
    }

    /// The same, at a time that is known already: asking the processor again would be a good part of what an event costs.
    #[inline]
    pub fn memory_at(&self, event: &MemoryEvent, ticks: u64) {
        let Some(words) = device::words(&self.memory, self.layout.devices, event.device) else { return };
        device::count(words, event.action);
        self.settle(words, event, ticks);
        match event.action {
            // The counter first, and for a free last: wherever a process is killed, the box counts what its blocks add up
            // to, or one block more.
            Action::Alloc => {
                device::grow(words, field::REQUESTED, event.bytes);
                self.push_at(event::of_memory(event), ticks);
            }
            Action::FreeRequested => keep_pending(words, event),
            Action::FreeCompleted => device::shrink(words, field::REQUESTED, event.bytes),
            _ => self.seldom(words, event, ticks),
        }
    }

    /// What happens far less often than blocks come and go, apart from it: an event of a block should touch little code.
    #[cold]
    fn seldom(&self, words: &device::Words, event: &MemoryEvent, ticks: u64) {
        let number = self.push_at(event::of_memory(event), ticks);
        match event.action {
            Action::SegmentAlloc | Action::SegmentMap => {
                self.segments().insert(event, number, event.action == Action::SegmentMap);
                device::grow(words, field::RESERVED, event.bytes);
            }
            Action::SegmentFree | Action::SegmentUnmap => {
                self.segments().remove(event, number);
                device::shrink(words, field::RESERVED, event.bytes);
            }
            _ => {}
        }
    }

    /// Writes what was held back. Nearly always a block is given back and free again at once, which then is one event
    /// in place of two.
    #[inline]
    fn settle(&self, words: &device::Words, event: &MemoryEvent, ticks: u64) {
        let pending = words[field::PENDING].load(Relaxed);
        if pending != 0 {
            words[field::PENDING].store(0, Relaxed);
            if event.action == Action::FreeCompleted && event.address == pending {
                self.push_at(event::of_free(event), ticks);
                return;
            }
            self.push_apart(&pending_event(words, event.device, pending), ticks);
        }
        if event.action == Action::FreeCompleted {
            self.push_apart(event, ticks);
        }
    }

    /// A free that another stream holds up, or the end of one.
    #[cold]
    fn push_apart(&self, event: &MemoryEvent, ticks: u64) {
        self.push_at(event::of_memory(event), ticks);
    }

    /// A block was taken for a CPU tensor. Any thread may say so.
    pub fn host_alloc(&self, event: &MemoryEvent) {
        let event = MemoryEvent { device: HOST, action: Action::Alloc, ..*event };
        let number = self.push(event::of_memory(&event));
        let live = self.memory.load(word::HOST_ALLOCATIONS).wrapping_sub(self.memory.load(word::HOST_FREES));
        // The rest of the table is for the devices, whatever a data set does.
        if live >= self.layout.blocks.records(RECORD_WORDS) as u64 / 2 {
            self.add(word::LOST_BLOCKS, 1);
            return;
        }
        self.blocks().insert(&event, number);
        self.add(word::HOST_ALLOCATIONS, 1);
        host::grow(&self.memory, event.bytes);
    }

    /// The block of a CPU tensor was given back; one that was never seen is left alone.
    pub fn host_free(&self, address: u64) {
        let Some(slot) = self.blocks().find(address).filter(|slot| slot::device(slot) == HOST) else { return };
        let Some(block) = slot::block(slot) else { return };
        slot::clear(slot);
        let event = MemoryEvent {
            action: Action::FreeCompleted,
            device: HOST,
            address,
            bytes: block.bytes,
            stack: crate::StackNumber(0),
            lane: 0,
        };
        self.push(event::of_free(&event));
        self.add(word::HOST_FREES, 1);
        self.add(word::HOST_TENSOR_BYTES, block.bytes.wrapping_neg());
    }

    /// What the box says of a device.
    #[must_use]
    pub fn device_state(&self, ordinal: u8) -> Option<DeviceState> {
        device::read(&self.memory, self.layout.devices, ordinal)
    }

    /// What the box says of the host.
    #[must_use]
    pub fn host_state(&self) -> HostState {
        host::read(&self.memory)
    }

    /// Says what a device is; a limit of 0 is none.
    pub fn device(&self, ordinal: u8, uuid: [u8; 16], total_bytes: u64, limit_bytes: u64) {
        let Some(words) = device::words(&self.memory, self.layout.devices, ordinal) else { return };
        let (halves, _) = uuid.as_chunks::<8>();
        for (to, half) in words.iter().skip(field::UUID).zip(halves) {
            to.store(u64::from_le_bytes(*half), Relaxed);
        }
        words[field::TOTAL].store(total_bytes, Relaxed);
        words[field::LIMIT].store(limit_bytes, Relaxed);
        words[field::KNOWN].store(1, Relaxed);
    }

    /// Keeps what PyTorch's statistics say.
    pub fn stats(&self, ordinal: u8, stats: Stats) {
        let Some(words) = device::words(&self.memory, self.layout.devices, ordinal) else { return };
        for (to, number) in words.iter().skip(field::STATS).zip(stats.to_numbers()) {
            to.store(number, Relaxed);
        }
        words[field::KNOWN].store(1, Relaxed);
        self.memory.store(word::PINNED_BYTES, stats.pinned_bytes);
    }
}

/// Holds a free back until the next event.
#[inline]
fn keep_pending(words: &device::Words, event: &MemoryEvent) {
    words[field::PENDING_BYTES].store(event.bytes, Relaxed);
    words[field::PENDING_PLACE].store(u64::from(event.stack.0) | u64::from(event.lane) << 32, Relaxed);
    words[field::PENDING].store(event.address, Relaxed);
}

fn pending_event(words: &device::Words, device: u8, address: u64) -> MemoryEvent {
    let place = words[field::PENDING_PLACE].load(Relaxed);
    MemoryEvent {
        action: Action::FreeRequested,
        device,
        address,
        bytes: words[field::PENDING_BYTES].load(Relaxed),
        stack: crate::StackNumber(place as u32),
        lane: (place >> 32) as u16,
    }
}
