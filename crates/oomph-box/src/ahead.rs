//! Makes pages ready that events are about to be written to.
//!
//! The kernel writes a mapped file to its disk now and then, and protects its pages against stores for that. The next store
//! to each page is a page fault, of some microseconds, and of far more in some sandboxes. A job of small steps goes over
//! hundreds of pages a second, so somebody else than the job touches them before it gets there.

use crate::layout::{RECORD_WORDS, word};
use crate::memory::PAGE_WORDS;
use crate::writer::Writer;

const EVENTS_A_PAGE: u64 = (PAGE_WORDS / RECORD_WORDS) as u64;

/// How far ahead of the next event pages are made ready, where the ring is not smaller: thousands of blocks.
const PAGES_AHEAD: u64 = 64;

impl Writer {
    /// Makes the pages ready for the next events, from event `until` on, up to which the last call did, and says up to which
    /// event they are ready now. Nothing that is written meanwhile is lost.
    #[must_use]
    pub fn make_ready(&self, until: u64) -> u64 {
        let ring = self.layout.ring;
        let events = ring.records(RECORD_WORDS) as u64;
        let next = self.memory.load(word::EVENTS);
        let first = next - next % EVENTS_A_PAGE;
        let end = first + (PAGES_AHEAD * EVENTS_A_PAGE).min(events / 2);
        let from = if (first..=end).contains(&until) { until } else { first };
        for number in (from..end).step_by(EVENTS_A_PAGE as usize) {
            // The ring's size is a power of two, and it begins on a page.
            self.memory.touch(ring.start + (number & (events - 1)) as usize * RECORD_WORDS);
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catching_up::BATCH;
    use crate::model::{Action, MemoryEvent, StackNumber};
    use crate::{BlackBox, MIN_BYTES};

    fn tell(writer: &Writer, number: u64) {
        let (stack, lane) = (StackNumber(0), 0);
        let event = MemoryEvent { action: Action::Alloc, device: 0, address: (number + 1) << 9, bytes: 1, stack, lane };
        writer.memory(&event);
    }

    /// Page faults of this thread so far.
    fn faults() -> u64 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("the kernel's figures");
        // Behind the name, which may hold blanks: the small faults are the 10th field, those that read a disk the 12th.
        let behind: Vec<&str> = stat.rsplit(')').next().expect("a part").split_whitespace().collect();
        [behind[7], behind[9]].map(|count| count.parse::<u64>().expect("a count")).iter().sum()
    }

    const PAGES: u64 = 6;

    /// Faults of a thread that goes over some pages of the ring, which the kernel had taken away before.
    fn faults_over_pages(writer: &Writer, is_made_ready: bool) -> u64 {
        writer.memory.let_go();
        // What is not the ring's is touched anew, too.
        (0..EVENTS_A_PAGE).for_each(|number| tell(writer, number));
        if is_made_ready {
            std::thread::scope(|scope| scope.spawn(|| writer.make_ready(0)).join()).expect("an event");
        }
        let before = faults();
        (0..PAGES * EVENTS_A_PAGE).for_each(|number| tell(writer, number));
        faults() - before
    }

    #[test]
    fn a_page_that_was_made_ready_costs_whoever_writes_to_it_no_fault() {
        // The table of live blocks, which lies elsewhere, follows before the counting begins, or behind its end.
        const { assert!((PAGES + 2) * EVENTS_A_PAGE == BATCH) };
        let folder = tempfile::tempdir().expect("a folder");
        let writer = Writer::create(&folder.path().join("one.box"), 4 * MIN_BYTES).expect("a box");
        let (plain, ready) = (faults_over_pages(&writer, false), faults_over_pages(&writer, true));
        assert!(plain >= PAGES, "{plain} faults");
        assert!(ready + PAGES / 2 <= plain, "{ready} faults instead of {plain}");
    }

    #[test]
    fn events_are_whole_that_are_written_while_pages_are_made_ready() {
        const EVENTS: u64 = 40_000;
        let writer = Writer::in_memory(MIN_BYTES).expect("a box");
        std::thread::scope(|scope| {
            let readying = scope.spawn(|| {
                let mut until = 0;
                while until < EVENTS {
                    until = writer.make_ready(until);
                }
            });
            (0..EVENTS).for_each(|number| tell(&writer, number));
            readying.join().expect("it ends");
        });
        let seen = BlackBox::from_bytes(writer.to_bytes()).expect("a box").events_since(0);
        assert_eq!(seen.events.len() as u64, writer.layout.ring.records(RECORD_WORDS) as u64);
    }

    #[test]
    fn what_is_ready_follows_the_next_event() {
        let writer = Writer::in_memory(MIN_BYTES).expect("a box");
        let ahead = writer.make_ready(0);
        assert_eq!(ahead, PAGES_AHEAD * EVENTS_A_PAGE);
        assert_eq!(writer.make_ready(ahead), ahead);
        (0..=3 * EVENTS_A_PAGE).for_each(|number| tell(&writer, number));
        assert_eq!(writer.make_ready(ahead), ahead + 3 * EVENTS_A_PAGE);
        // Of another box.
        assert_eq!(writer.make_ready(1 << 40), ahead + 3 * EVENTS_A_PAGE);
    }
}
