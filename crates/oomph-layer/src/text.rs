//! Paths in buffers of a fixed size, on the stack.
//!
//! A program calls these functions between `vfork` and `exec` and in signal handlers, where nothing may be allocated.

use std::ffi::CStr;
use std::mem::MaybeUninit;

use crate::sys::{Answer, Errno};

/// The kernel's own limit for a path, its NUL included.
pub(crate) const PATH_BYTES: usize = libc::PATH_MAX as usize;

/// A path that always ends in a NUL.
pub(crate) struct Text {
    len: usize,
    bytes: [MaybeUninit<u8>; PATH_BYTES],
}

impl Text {
    /// An empty path.
    pub(crate) fn new() -> Self {
        let mut text = Self { len: 0, bytes: [const { MaybeUninit::uninit() }; PATH_BYTES] };
        text.end_at(0);
        text
    }

    /// A path with this content.
    pub(crate) fn from(parts: &[&[u8]]) -> Answer<Self> {
        let mut text = Self::new();
        for part in parts {
            text.push(part)?;
        }
        Ok(text)
    }

    /// Appends; `ENAMETOOLONG` where the kernel would say so.
    pub(crate) fn push(&mut self, more: &[u8]) -> Answer<()> {
        let end = self.len + more.len();
        if end >= PATH_BYTES {
            return Err(Errno(libc::ENAMETOOLONG));
        }
        // SAFETY: `end` is below the buffer's size, and `more` cannot lie inside the buffer that is borrowed mutably.
        unsafe {
            std::ptr::copy_nonoverlapping(more.as_ptr(), self.bytes.as_mut_ptr().add(self.len).cast(), more.len());
        };
        self.end_at(end);
        Ok(())
    }

    /// Cuts the path off after `len` bytes.
    pub(crate) fn truncate(&mut self, len: usize) {
        if len < self.len {
            self.end_at(len);
        }
    }

    fn end_at(&mut self, len: usize) {
        if let Some(slot) = self.bytes.get_mut(len) {
            slot.write(0);
            self.len = len;
        }
    }

    /// Lets the kernel fill the buffer; `fill` returns how many bytes it wrote.
    pub(crate) fn fill(&mut self, fill: impl FnOnce(&mut [MaybeUninit<u8>]) -> Answer<usize>) -> Answer<()> {
        let written = fill(&mut self.bytes)?;
        if written >= PATH_BYTES {
            return Err(Errno(libc::ENAMETOOLONG));
        }
        self.end_at(written);
        Ok(())
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The bytes without the NUL.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the first `len` bytes were written by `push` or `fill`, and `len` is below the buffer's size.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.len) }
    }

    /// The path for a system call.
    pub(crate) fn c(&self) -> &CStr {
        self.c_from(0)
    }

    /// What follows the first `start` bytes, for a system call.
    pub(crate) fn c_from(&self, start: usize) -> &CStr {
        let start = start.min(self.len);
        // SAFETY: `start` is within the buffer, and a NUL stands at `len`.
        unsafe { CStr::from_ptr(self.bytes.as_ptr().add(start).cast()) }
    }
}

/// `path` below `folder`: the rest with its leading slash, empty for the folder itself.
pub(crate) fn below<'a>(path: &'a [u8], folder: &[u8]) -> Option<&'a [u8]> {
    let rest = path.strip_prefix(folder)?;
    (rest.is_empty() || rest.starts_with(b"/")).then_some(rest)
}

/// The folder part of a canonical path, empty for the root.
pub(crate) fn parent(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    path.get(..slash).unwrap_or_default()
}

/// Is the last name of a path `.` or `..`?
pub(crate) fn ends_in_dots(path: &[u8]) -> bool {
    let last = path.split(|byte| *byte == b'/').rfind(|name| !name.is_empty());
    matches!(last, Some(b"." | b".."))
}

/// A number in decimal, for names.
pub(crate) fn decimal(mut number: u64, into: &mut [u8; 20]) -> &[u8] {
    let mut start = into.len();
    for (index, slot) in into.iter_mut().enumerate().rev() {
        *slot = b'0' + (number % 10) as u8;
        number /= 10;
        start = index;
        if number == 0 {
            break;
        }
    }
    into.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_too_long_is_refused_and_left_alone() {
        let mut text = Text::from(&[b"/a"]).ok();
        let long = [b'x'; PATH_BYTES];
        let refused = text.as_mut().map(|text| text.push(&long));
        assert_eq!(refused, Some(Err(Errno(libc::ENAMETOOLONG))));
        assert_eq!(text.as_ref().map(|text| text.c().to_bytes()), Some(b"/a".as_slice()));
    }

    #[test]
    fn below_asks_for_whole_names() {
        assert_eq!(below(b"/home/me/x", b"/home/me"), Some(b"/x".as_slice()));
        assert_eq!(below(b"/home/me", b"/home/me"), Some(b"".as_slice()));
        assert_eq!(below(b"/home/men", b"/home/me"), None);
    }

    #[test]
    fn parents_and_numbers() {
        assert_eq!(parent(b"/a/b"), b"/a");
        assert_eq!(parent(b"/a"), b"");
        assert!(ends_in_dots(b"a/..//") && ends_in_dots(b".") && !ends_in_dots(b"../a") && !ends_in_dots(b"/"));
        assert_eq!(decimal(0, &mut [0; 20]), b"0");
        assert_eq!(decimal(u64::MAX, &mut [0; 20]), b"18446744073709551615");
    }
}
