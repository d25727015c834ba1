//! Where things lie in a box.
//!
//! Everything follows from the size of the file, so a reader trusts no offset that the file names. All positions count
//! words of 8 bytes.

/// The first word of every box.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"OOMPHBOX");

/// Changes with every change of the layout.
pub(crate) const VERSION: u64 = 3;

/// What a box takes where nobody says otherwise.
pub const DEFAULT_BYTES: u64 = 32 << 20;

/// The smallest box.
pub const MIN_BYTES: u64 = 1 << 20;

/// The largest box: numbers of stacks and strings have 32 bits.
pub const MAX_BYTES: u64 = 4 << 30;

/// Devices that a box has room for.
pub const MAX_DEVICES: usize = 16;

/// Lanes (streams and pools) that a box has room for.
pub(crate) const MAX_LANES: usize = 2048;

/// Segments that a box has room for.
pub(crate) const MAX_SEGMENTS: usize = 4096;

/// The longest question and the longest answer.
pub const MAX_MESSAGE_BYTES: usize = 4096;

pub(crate) const WORD_BYTES: usize = 8;
pub(crate) const RECORD_WORDS: usize = 4;
pub(crate) const FRAME_WORDS: usize = 3;
pub(crate) const LANE_WORDS: usize = 4;
pub(crate) const DEVICE_WORDS: usize = 64;

const PAGE_WORDS: usize = 512;

/// Behind the header, on its page: what every event touches lies on as few pages as can be, since a processor that is busy
/// with the job has forgotten where each of them is.
const DEVICES_START: usize = 128;

/// The words of the header, and of the state behind it.
pub(crate) mod word {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const VERSION: usize = 1;
    pub(crate) const BYTES: usize = 2;
    pub(crate) const PID: usize = 3;
    pub(crate) const START_TICKS: usize = 4;
    pub(crate) const CREATED_US: usize = 5;
    pub(crate) const ENDED: usize = 6;
    pub(crate) const EXIT_CODE: usize = 7;
    /// Ticks, microseconds since 1970.
    pub(crate) const FIRST_CLOCK: usize = 8;

    /// How much of each arena is taken; each on a cache line of its own would buy nothing, all but the ring's are rare.
    pub(crate) const FACTS_USED: usize = 32;
    pub(crate) const STRINGS_USED: usize = 33;
    pub(crate) const FRAMES_USED: usize = 34;
    pub(crate) const STACKS_USED: usize = 35;
    pub(crate) const LANES_USED: usize = 36;
    pub(crate) const SEGMENTS_USED: usize = 37;
    pub(crate) const LOST_BLOCKS: usize = 40;
    pub(crate) const LOST_SEGMENTS: usize = 41;
    pub(crate) const LOST_STACKS: usize = 42;
    pub(crate) const LOST_FACTS: usize = 43;
    /// Events ever written: the number of the next one. Many threads write here, so nothing else lies on its cache line
    /// but what each of them reads next.
    pub(crate) const EVENTS: usize = 64;
    /// Ticks, microseconds since 1970, and a check over both.
    pub(crate) const LAST_CLOCK: usize = 65;

    /// The number of the first event that the table of live blocks knows nothing of.
    pub(crate) const IN_TABLE: usize = 72;

    pub(crate) const STEP: usize = 80;
    pub(crate) const BATCHES: usize = 81;
    pub(crate) const PHASE: usize = 82;
    pub(crate) const STEP_STARTED_US: usize = 83;
    pub(crate) const UPDATED_US: usize = 84;
    pub(crate) const HOST_TENSOR_BYTES: usize = 96;
    pub(crate) const HOST_TENSOR_PEAK_BYTES: usize = 97;
    pub(crate) const PINNED_BYTES: usize = 98;
    pub(crate) const HOST_ALLOCATIONS: usize = 99;
    pub(crate) const HOST_FREES: usize = 100;

    pub(crate) const ASKED: usize = 112;
    pub(crate) const ANSWERED: usize = 113;
}

/// A range of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) start: usize,
    pub(crate) words: usize,
}

impl Region {
    /// How many records of `record_words` it has room for.
    pub(crate) fn records(self, record_words: usize) -> usize {
        self.words / record_words
    }
}

/// Where each part lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) words: usize,
    pub(crate) devices: Region,
    pub(crate) question: Region,
    pub(crate) answer: Region,
    pub(crate) lanes: Region,
    pub(crate) segments: Region,
    pub(crate) facts: Region,
    pub(crate) strings: Region,
    pub(crate) frames: Region,
    pub(crate) stacks: Region,
    pub(crate) blocks: Region,
    pub(crate) ring: Region,
}

impl Layout {
    /// The layout of a box of so many bytes; `None` if there is none.
    pub(crate) fn of_bytes(bytes: u64) -> Option<Self> {
        if !(MIN_BYTES..=MAX_BYTES).contains(&bytes) {
            return None;
        }
        let words = usize::try_from(bytes).ok()? / WORD_BYTES / PAGE_WORDS * PAGE_WORDS;
        let devices = Region { start: DEVICES_START, words: MAX_DEVICES * DEVICE_WORDS };
        let mut next = (devices.start + devices.words).next_multiple_of(PAGE_WORDS);
        let mut take = |wanted: usize| {
            let region = Region { start: next, words: wanted.next_multiple_of(PAGE_WORDS) };
            next += region.words;
            region
        };
        // One word of length and check before the text.
        let message_words = MAX_MESSAGE_BYTES / WORD_BYTES + 1;
        let nothing = Region { start: 0, words: 0 };
        let mut layout = Self {
            words,
            devices,
            question: take(message_words),
            answer: take(message_words),
            lanes: take(MAX_LANES * LANE_WORDS),
            segments: take(MAX_SEGMENTS * RECORD_WORDS),
            blocks: take(power_of_two(words / 5)),
            ring: take(power_of_two(words / 3 * 2)),
            facts: nothing,
            strings: nothing,
            frames: nothing,
            stacks: nothing,
        };
        let share = words.checked_sub(next)? / 6 / PAGE_WORDS * PAGE_WORDS;
        let mut take = |wanted: usize| {
            let region = Region { start: next, words: wanted };
            next += wanted;
            region
        };
        layout.facts = take(share);
        layout.strings = take(share);
        layout.frames = take(share);
        layout.stacks = take(share * 3);
        Some(layout)
    }
}

/// The largest power of two that is not larger: what is found by a hash or a number needs no division then.
fn power_of_two(words: usize) -> usize {
    1 << words.max(1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_follow_one_another_and_leave_most_to_the_ring() {
        for mib in [1_u64, 2, 4, 16, 48, 100, 512] {
            let layout = Layout::of_bytes(mib << 20).expect("large enough");
            let regions = [
                layout.devices,
                layout.question,
                layout.answer,
                layout.lanes,
                layout.segments,
                layout.blocks,
                layout.ring,
                layout.facts,
                layout.strings,
                layout.frames,
                layout.stacks,
            ];
            assert!(regions[0].start > word::ANSWERED);
            for pair in regions.windows(2) {
                assert_eq!((pair[0].start + pair[0].words).next_multiple_of(PAGE_WORDS), pair[1].start);
            }
            let end = layout.stacks.start + layout.stacks.words;
            assert!((layout.words - 6 * PAGE_WORDS..=layout.words).contains(&end), "{mib} MiB: {layout:?}");
            assert!(layout.ring.words * 3 > layout.words, "{mib} MiB: {layout:?}");
            assert!(layout.stacks.words * 20 > layout.words, "{mib} MiB: {layout:?}");
            assert!(layout.blocks.records(RECORD_WORDS).is_power_of_two());
            assert!(layout.ring.records(RECORD_WORDS).is_power_of_two());
        }
    }

    #[test]
    fn a_default_box_has_room_for_a_hundred_thousand_blocks_and_half_a_million_events() {
        let layout = Layout::of_bytes(DEFAULT_BYTES).expect("the default");
        assert_eq!(layout.blocks.records(RECORD_WORDS), 1 << 17);
        assert_eq!(layout.ring.records(RECORD_WORDS), 1 << 19);
    }

    #[test]
    fn other_sizes_have_no_layout() {
        assert!(Layout::of_bytes(MIN_BYTES - 1).is_none());
        assert!(Layout::of_bytes(MAX_BYTES + 1).is_none());
        assert!(Layout::of_bytes(0).is_none());
    }
}
