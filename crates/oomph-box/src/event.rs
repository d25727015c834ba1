//! One event in 32 bytes.
//!
//! | word | bits | |
//! |---|---|---|
//! | 0 | 64 | address; the step; a name and its stage |
//! | 1 | 48 + 8 + 8 | bytes; kind; device |
//! | 2 | 48 + 16 | ticks; check over the event and its number |
//! | 3 | 32 + 16 + 8 + 8 | stack or module; lane; category or phase; nothing |

use crate::clock::Calibration;
use crate::model::{Action, BoxEvent, Category, HOST, MemoryEvent, NameNumber, Phase, StackNumber, Stage, What};

/// 48 bits.
pub(crate) const TICKS_MASK: u64 = (1 << 48) - 1;
const BYTES_MASK: u64 = (1 << 48) - 1;

/// Kinds below are PyTorch's actions.
const KIND_FREE: u8 = 32;
const KIND_MARK: u8 = 33;
const KIND_STATE: u8 = 34;
const KIND_TAG: u8 = 35;

/// The words of an event, all but its check.
pub(crate) type Words = [u64; 4];

fn pack_middle(bytes: u64, kind: u8, device: u8) -> u64 {
    bytes.min(BYTES_MASK) | u64::from(kind) << 48 | u64::from(device) << 56
}

fn pack_last(low: u32, lane: u16, small: u8) -> u64 {
    u64::from(low) | u64::from(lane) << 32 | u64::from(small) << 48
}

#[inline]
fn check(number: u64, words: Words) -> u64 {
    let [a, b, c, d] = words;
    let mixed = (a ^ number.rotate_left(20)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (b ^ d.rotate_left(29)).wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
        ^ c.wrapping_mul(0x1656_67b1_9e37_79f9);
    // Never 0: an empty record is no event.
    (mixed >> 48) | 1
}

/// Adds time and check to an event's words.
#[inline]
pub(crate) fn seal(number: u64, words: Words, short_ticks: u64) -> Words {
    let [a, b, _, d] = words;
    let ticks = short_ticks & TICKS_MASK;
    [a, b, ticks | check(number, [a, b, ticks, d]) << 48, d]
}

/// The words of a memory event.
#[inline]
pub(crate) fn of_memory(event: &MemoryEvent) -> Words {
    words_of_kind(event, event.action as u8)
}

/// A free that was asked for and done at once.
#[inline]
pub(crate) fn of_free(event: &MemoryEvent) -> Words {
    words_of_kind(event, KIND_FREE)
}

#[inline]
fn words_of_kind(event: &MemoryEvent, kind: u8) -> Words {
    [event.address, pack_middle(event.bytes, kind, event.device), 0, pack_last(event.stack.0, event.lane, 0)]
}

/// The words of a mark.
pub(crate) fn of_mark(name: NameNumber, stage: Stage) -> Words {
    [u64::from(name.0) | (stage as u64) << 32, pack_middle(0, KIND_MARK, 0), 0, 0]
}

/// The words of a state.
pub(crate) fn of_state(step: u64, batches: u64, phase: Phase) -> Words {
    [step, pack_middle(0, KIND_STATE, 0), 0, pack_last(batches as u32, 0, phase as u8)]
}

/// The words of a tag.
pub(crate) fn of_tag(address: u64, category: Category, module: u32) -> Words {
    [address, pack_middle(0, KIND_TAG, 0), 0, pack_last(module, 0, category as u8)]
}

/// What the words of a record say, if they are those of event `number`, whole: one event, or the two of a free.
pub(crate) fn decode(number: u64, words: Words, clock: Calibration) -> Option<(BoxEvent, Option<BoxEvent>)> {
    let [a, b, c, d] = words;
    let ticks = c & TICKS_MASK;
    if c >> 48 != check(number, [a, b, ticks, d]) {
        return None;
    }
    let time_us = clock.time_us(ticks);
    let event = |what| Some((BoxEvent { time_us, what }, None));
    let small = (d >> 48) as u8;
    match (b >> 48) as u8 {
        KIND_FREE => {
            let both = [Action::FreeRequested, Action::FreeCompleted]
                .map(|action| BoxEvent { time_us, what: What::Memory(memory_event(action, words)) });
            Some((both[0], Some(both[1])))
        }
        KIND_MARK => {
            let stage = Stage::from_number((a >> 32) as u8)?;
            event(What::Mark { name: NameNumber(a as u32), stage })
        }
        KIND_STATE => event(What::State { step: a, batches: d as u32, phase: Phase::from_number(small)? }),
        KIND_TAG => event(What::Tag { address: a, category: Category::from_number(small)?, module: d as u32 }),
        kind => event(What::Memory(memory_event(Action::from_number(kind)?, words))),
    }
}

/// What an event does to the table of live blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing; so do events of the host, whose blocks are put there and taken out as they come and go.
    Nothing,
    /// A block was taken.
    Taken(MemoryEvent),
    /// The client gave the block at this address back, and another stream still uses it.
    FreeRequested(u64),
    /// The block at this address is gone.
    Freed(u64),
    /// Somebody said what a block is for.
    Tagged { address: u64, category: Category, module: u32 },
}

/// What a record does to the table of live blocks, if it is that of event `number`, whole.
pub(crate) fn change(number: u64, words: Words) -> Option<Change> {
    let [address, middle, c, last] = words;
    if c >> 48 != check(number, [address, middle, c & TICKS_MASK, last]) {
        return None;
    }
    let kind = (middle >> 48) as u8;
    if (middle >> 56) as u8 == HOST {
        return Some(Change::Nothing);
    }
    Some(match kind {
        KIND_FREE => Change::Freed(address),
        KIND_TAG => {
            let category = Category::from_number((last >> 48) as u8)?;
            Change::Tagged { address, category, module: last as u32 }
        }
        kind => match Action::from_number(kind) {
            Some(Action::Alloc) => Change::Taken(memory_event(Action::Alloc, words)),
            Some(Action::FreeRequested) => Change::FreeRequested(address),
            Some(Action::FreeCompleted) => Change::Freed(address),
            _ => Change::Nothing,
        },
    })
}

fn memory_event(action: Action, [address, middle, _, last]: Words) -> MemoryEvent {
    MemoryEvent {
        action,
        device: (middle >> 56) as u8,
        address,
        bytes: middle & BYTES_MASK,
        stack: StackNumber(last as u32),
        lane: (last >> 32) as u16,
    }
}
