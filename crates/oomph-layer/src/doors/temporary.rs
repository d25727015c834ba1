//! Files with a name that nobody has: `mkstemp` and its kin.

use std::ffi::{c_char, c_int};

use super::{door, give};
use crate::ops::{make, open};
use crate::sys::{self, Answer, CWD, Errno, c_str};

/// A template that a C caller wants filled in: text that it may have changed.
type Template = *mut c_char;

const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const BLANKS: &[u8] = b"XXXXXX";
const ATTEMPTS: usize = 1000;

/// The six letters to fill in, before a suffix of that many bytes.
fn blanks<'a>(template: Template, suffix: c_int) -> Answer<&'a mut [u8]> {
    // SAFETY: the caller hands over a C string that it may change.
    let text = unsafe { c_str(template)? };
    let suffix = usize::try_from(suffix).map_err(|_| Errno(libc::EINVAL))?;
    let end = text.count_bytes().checked_sub(suffix).ok_or(Errno(libc::EINVAL))?;
    let start = end.checked_sub(BLANKS.len()).ok_or(Errno(libc::EINVAL))?;
    if text.to_bytes().get(start..end) != Some(BLANKS) {
        return Err(Errno(libc::EINVAL));
    }
    // SAFETY: these bytes lie within the caller's text, which is not looked at while they change.
    Ok(unsafe { std::slice::from_raw_parts_mut(template.add(start).cast(), BLANKS.len()) })
}

/// Tries names until one is new.
fn unused<T>(template: Template, suffix: c_int, mut attempt: impl FnMut(Template) -> Answer<T>) -> Answer<T> {
    let blanks = blanks(template, suffix)?;
    for _ in 0..ATTEMPTS {
        let mut bytes = [0; BLANKS.len()];
        sys::random(&mut bytes);
        for (blank, byte) in blanks.iter_mut().zip(bytes) {
            *blank = LETTERS.get(usize::from(byte) % LETTERS.len()).copied().unwrap_or(b'x');
        }
        match attempt(template) {
            Err(Errno(libc::EEXIST)) => {}
            answer => return answer,
        }
    }
    Err(Errno(libc::EEXIST))
}

fn file(template: Template, suffix: c_int, flags: c_int) -> c_int {
    let flags = flags & !libc::O_ACCMODE | libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
    // SAFETY: the caller's own C string.
    give(unused(template, suffix, |path| open::open(CWD, unsafe { c_str(path)? }, flags, 0o600)))
}

fn folder(template: Template) -> *mut c_char {
    give(unused(template, 0, |path| {
        // SAFETY: the caller's own C string.
        make::mkdir(CWD, unsafe { c_str(path)? }, 0o700).map(|()| path)
    }))
}

door! {
    /// Makes a file.
    mkstemp, mkstemp64 => (template: *mut c_char) -> c_int { file(template, 0, 0) }

    /// Makes a file, opened with more flags.
    mkostemp, mkostemp64 => (template: *mut c_char, flags: c_int) -> c_int { file(template, 0, flags) }

    /// Makes a file whose name has a suffix.
    mkstemps, mkstemps64 => (template: *mut c_char, suffix: c_int) -> c_int { file(template, suffix, 0) }

    /// Makes a file whose name has a suffix, opened with more flags.
    mkostemps, mkostemps64 => (template: *mut c_char, suffix: c_int, flags: c_int) -> c_int {
        file(template, suffix, flags)
    }

    /// Makes a folder.
    mkdtemp => (template: *mut c_char) -> *mut c_char { folder(template) }
}
