//! What ranks tell one another about themselves.
//!
//! A distributed program compares notes through its cards: how many parameters a rank has, in which order it fills its
//! buckets. Small things of that kind go to the device, through a collective and back to the host, where a program
//! relies on them (DDP indexes with them, unchecked). So once a program has asked for NCCL, small copies to the
//! device are kept; those that go through a collective come back once as if all ranks had said the same. Anything
//! else that is read from a device stays zero.

use std::collections::BTreeMap;
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::lock::Guarded;

/// More than what ranks tell one another takes.
const MOST_BYTES: usize = 1 << 16;
/// More than are on their way at any time.
const MOST_NOTES: usize = 1024;

static IS_DISTRIBUTED: AtomicBool = AtomicBool::new(false);
static NOTES: Guarded<Notes> = Guarded::new(Notes { by_address: BTreeMap::new() });

struct Notes {
    by_address: BTreeMap<u64, Note>,
}

#[derive(Clone)]
struct Note {
    bytes: Vec<u8>,
    /// Whether it went through a collective.
    is_exchanged: bool,
}

impl Notes {
    fn put(&mut self, address: u64, note: Note) {
        if self.by_address.len() >= MOST_NOTES {
            self.by_address.clear();
        }
        self.by_address.insert(address, note);
    }

    /// The note that covers a range, as far as it does.
    fn find(&self, address: u64, size: usize) -> Option<Note> {
        let (start, note) = self.by_address.range(..=address).next_back()?;
        let from = usize::try_from(address - start).ok()?;
        let bytes = note.bytes.get(from..from.checked_add(size)?)?.to_vec();
        Some(Note { bytes, is_exchanged: note.is_exchanged })
    }
}

/// The program may have several ranks from now on.
pub(crate) fn begin() {
    IS_DISTRIBUTED.store(true, Ordering::Relaxed);
}

fn is_of_interest(size: usize) -> bool {
    IS_DISTRIBUTED.load(Ordering::Relaxed) && size > 0 && size <= MOST_BYTES
}

/// A copy from the host to a device.
///
/// # Safety
///
/// `from` is valid for `size` bytes.
pub(crate) unsafe fn sent(to: u64, from: *const u8, size: usize) {
    if is_of_interest(size) {
        // SAFETY: the caller's.
        let bytes = unsafe { slice::from_raw_parts(from, size) }.to_vec();
        NOTES.lock().put(to, Note { bytes, is_exchanged: false });
    }
}

/// A copy between addresses of devices.
pub(crate) fn moved(to: u64, from: u64, size: usize) {
    if is_of_interest(size) {
        let mut notes = NOTES.lock();
        match notes.find(from, size) {
            Some(note) => notes.put(to, note),
            None => drop(notes.by_address.remove(&to)),
        }
    }
}

/// A collective after which every one of `copies` places behind `to` has what `from` has.
pub(crate) fn exchanged(to: u64, from: u64, size: usize, copies: usize) {
    if is_of_interest(size.saturating_mul(copies)) {
        let mut notes = NOTES.lock();
        if let Some(note) = notes.find(from, size) {
            notes.put(to, Note { bytes: note.bytes.repeat(copies), is_exchanged: true });
        }
    }
}

/// A copy from a device to the host: true if this is something that ranks told one another.
///
/// # Safety
///
/// `to` can be written for `size` bytes.
pub(crate) unsafe fn received(to: *mut u8, from: u64, size: usize) -> bool {
    if !is_of_interest(size) {
        return false;
    }
    let mut notes = NOTES.lock();
    let Some(note) = notes.find(from, size).filter(|note| note.is_exchanged) else { return false };
    // Told once: the place is used for other things later.
    notes.by_address.remove(&from);
    // SAFETY: the caller's room, and a note of that size.
    unsafe { ptr::copy_nonoverlapping(note.bytes.as_ptr(), to, size) };
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_through_a_collective_comes_back_once() {
        begin();
        let said = [1_u8, 2, 3, 4];
        let mut heard = [0_u8; 4];
        // SAFETY: both arrays have four bytes.
        unsafe {
            sent(0x1000, said.as_ptr(), 4);
            assert!(!received(heard.as_mut_ptr(), 0x1000, 4), "not yet exchanged");
            exchanged(0x2000, 0x1000, 4, 2);
            moved(0x3000, 0x2004, 4);
            assert!(received(heard.as_mut_ptr(), 0x3000, 4));
            assert_eq!(heard, said);
            assert!(!received(heard.as_mut_ptr(), 0x3000, 4), "told once");
            assert!(!received(heard.as_mut_ptr(), 0x9000, 4));
        }
    }
}
