//! Texts that C hands over and takes.

use std::ffi::{CStr, c_char};

/// The bytes of a C string; empty for none.
///
/// # Safety
/// `text` is null or ends in a zero, and stays as it is meanwhile.
pub(crate) unsafe fn bytes_of<'a>(text: *const c_char) -> &'a [u8] {
    if text.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_bytes()
}

/// Writes as much of a text as there is room for, and a zero.
///
/// # Safety
/// `to` is null or has `room` bytes.
pub(crate) unsafe fn copy_to(text: &str, to: *mut c_char, room: u64) {
    let Some(room) = usize::try_from(room).ok().and_then(|room| room.checked_sub(1)).filter(|_| !to.is_null()) else {
        return;
    };
    let length = text.floor_char_boundary(room);
    // SAFETY: `length` is at most `room - 1`, and the text is nowhere near the caller's buffer.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast::<u8>(), length);
        to.add(length).write(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        let mut room: [c_char; 6] = [1; 6];
        // SAFETY: there is room for as many.
        unsafe { copy_to("aäää", room.as_mut_ptr(), 6) };
        // SAFETY: it ends in a zero.
        assert_eq!(unsafe { bytes_of(room.as_ptr()) }, "aää".as_bytes());
        // SAFETY: nothing is written.
        unsafe { copy_to("a", room.as_mut_ptr(), 0) };
        // SAFETY: null is allowed.
        unsafe { copy_to("a", std::ptr::null_mut(), 9) };
        assert_eq!(room[0], b'a' as c_char);
    }
}
