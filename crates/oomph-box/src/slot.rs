//! Live blocks and live segments in 32 bytes each.
//!
//! | word | bits | |
//! |---|---|---|
//! | 0 | 64 | address; 0 is an empty slot, 1 one that is being filled |
//! | 1 | 48 + 8 + 8 | bytes; device; category, and the highest bit for a free that was asked for |
//! | 2 | 32 + 32 | stack; module |
//! | 3 | 40 + 16 + 8 | birth; lane; check over what does not change |
//!
//! The address is written last and cleared first, so a slot with an address is whole, also in the file of a process
//! that was killed in between.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::model::{Category, LiveBlock, LiveSegment, MemoryEvent, StackNumber};

pub(crate) const EMPTY: u64 = 0;
const FILLING: u64 = 1;

const BYTES_MASK: u64 = (1 << 48) - 1;
const BIRTH_MASK: u64 = (1 << 40) - 1;
const FLAG: u64 = 1 << 63;
const CATEGORY_MASK: u64 = 0x7f << 56;

/// The words of one slot.
pub(crate) type Slot = [AtomicU64; 4];

/// What a slot is filled with.
#[derive(Clone, Copy)]
pub(crate) struct Content<'a> {
    pub(crate) event: &'a MemoryEvent,
    pub(crate) birth: u64,
    pub(crate) flag: bool,
}

#[inline]
fn check(address: u64, bytes_and_device: u64, stack: u64, birth_and_lane: u64) -> u64 {
    let mixed = (address ^ bytes_and_device.rotate_left(17) ^ stack.rotate_left(40) ^ birth_and_lane)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed >> 56
}

/// Takes an empty slot; `false` if another thread was faster.
#[inline]
pub(crate) fn claim(slot: &Slot) -> bool {
    slot[0].compare_exchange(EMPTY, FILLING, Acquire, Relaxed).is_ok()
}

/// Fills a slot that was claimed.
#[inline]
pub(crate) fn fill(slot: &Slot, content: Content<'_>) {
    let event = content.event;
    let bytes_and_device = event.bytes.min(BYTES_MASK) | u64::from(event.device) << 48;
    let birth_and_lane = (content.birth & BIRTH_MASK) | u64::from(event.lane) << 40;
    let check = check(event.address, bytes_and_device, u64::from(event.stack.0), birth_and_lane);
    slot[1].store(bytes_and_device | if content.flag { FLAG } else { 0 }, Relaxed);
    slot[2].store(u64::from(event.stack.0), Relaxed);
    slot[3].store(birth_and_lane | check << 56, Relaxed);
    slot[0].store(event.address, Release);
}

#[inline]
pub(crate) fn clear(slot: &Slot) {
    slot[0].store(EMPTY, Release);
}

#[inline]
pub(crate) fn device(slot: &Slot) -> u8 {
    (slot[1].load(Relaxed) >> 48) as u8
}

/// Says that the client gave the block back.
#[inline]
pub(crate) fn set_flag(slot: &Slot) {
    slot[1].fetch_or(FLAG, Relaxed);
}

/// Says what a block is for.
pub(crate) fn tag(slot: &Slot, category: Category, module: u32) {
    let mark = |value: u64| Some(value & !CATEGORY_MASK | (category as u64) << 56);
    let _ = slot[1].fetch_update(Relaxed, Relaxed, mark);
    let _ = slot[2].fetch_update(Relaxed, Relaxed, |value| Some(value & 0xffff_ffff | u64::from(module) << 32));
}

struct Read {
    address: u64,
    one: u64,
    two: u64,
    three: u64,
}

/// The words of a filled slot that did not change while they were read.
fn read(slot: &Slot) -> Option<Read> {
    let address = slot[0].load(Acquire);
    if address <= FILLING {
        return None;
    }
    let [one, two, three] = [1, 2, 3].map(|index| slot.get(index).map_or(0, |word| word.load(Acquire)));
    let expected = check(address, one & !CATEGORY_MASK & !FLAG, two & 0xffff_ffff, three & !(0xff_u64 << 56));
    (slot[0].load(Acquire) == address && three >> 56 == expected).then_some(Read { address, one, two, three })
}

/// The block in a slot.
pub(crate) fn block(slot: &Slot) -> Option<LiveBlock> {
    let Read { address, one, two, three } = read(slot)?;
    Some(LiveBlock {
        device: (one >> 48) as u8,
        address,
        bytes: one & BYTES_MASK,
        stack: StackNumber(two as u32),
        lane: (three >> 40) as u16,
        category: Category::from_number((one >> 56) as u8 & 0x7f).unwrap_or(Category::Other),
        module: (two >> 32) as u32,
        birth: three & BIRTH_MASK,
        free_requested: one & FLAG != 0,
    })
}

/// The segment in a slot.
pub(crate) fn segment(slot: &Slot) -> Option<LiveSegment> {
    let LiveBlock { device, address, bytes, stack, lane, birth, free_requested, .. } = block(slot)?;
    Some(LiveSegment { device, address, bytes, stack, lane, expandable: free_requested, birth })
}
