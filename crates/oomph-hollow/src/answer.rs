//! Answers to reads, told in advance.
//!
//! A hollow card has no values. Where oomph's Python knows what an operator is about to read back (how many elements
//! a mask picks), it says so first, and the operator's own code goes on with that: the memory it asks for follows.

use std::cell::RefCell;
use std::ptr;

thread_local! {
    /// Bytes for the next read of this thread.
    static NEXT: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// Has the next read on this thread give these bytes, followed by zeros; none takes back what was told before.
pub(crate) fn tell(bytes: Option<Vec<u8>>) {
    // A thread that is ending reads nothing more.
    let _ = NEXT.try_with(|next| *next.borrow_mut() = bytes);
}

/// A read of `size` bytes: true if its answer was told.
///
/// # Safety
///
/// `to` can be written for `size` bytes.
pub(crate) unsafe fn give(to: *mut u8, size: usize) -> bool {
    let Some(mut bytes) = NEXT.try_with(|next| next.borrow_mut().take()).ok().flatten() else { return false };
    bytes.resize(size, 0);
    // SAFETY: the caller's room, and as many bytes.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, size) };
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(size: usize) -> Option<Vec<u8>> {
        let mut room = vec![9; size];
        // SAFETY: room for as many bytes.
        unsafe { give(room.as_mut_ptr(), size) }.then_some(room)
    }

    #[test]
    fn an_answer_is_given_once_and_in_the_size_asked_for() {
        assert_eq!(read(4), None);
        tell(Some(vec![1, 2]));
        assert_eq!(read(4), Some(vec![1, 2, 0, 0]));
        assert_eq!(read(4), None);
        tell(Some(vec![1, 2, 3]));
        assert_eq!(read(1), Some(vec![1]));
        tell(Some(vec![1]));
        tell(None);
        assert_eq!(read(1), None);
    }

    #[test]
    fn other_threads_hear_nothing() {
        tell(Some(vec![1]));
        assert_eq!(std::thread::spawn(|| read(1)).join().unwrap(), None);
        assert_eq!(read(1), Some(vec![1]));
    }
}
