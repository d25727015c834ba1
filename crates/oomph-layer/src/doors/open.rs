//! `open` and `fopen`, with all their spellings.

use std::ffi::{CStr, c_char, c_int};

use libc::mode_t;

use super::{CText, door, give, next};
use crate::layer::layer;
use crate::ops::open::open as open_file;
use crate::sys::{self, Answer, CWD, Errno};

// The third argument of `open` is variadic in C; on the platforms we build for it is passed as if it were not.
door! {
    /// Opens a file.
    open, open64, __open, __open64 => (path: CText, flags: c_int, mode: mode_t) -> c_int {
        give(path.get().and_then(|path| open_file(CWD, path, flags, mode)))
    }

    /// Opens a file, never to create it.
    __open_2, __open64_2 => (path: CText, flags: c_int) -> c_int {
        give(path.get().and_then(|path| open_file(CWD, path, flags, 0)))
    }

    /// Opens a file relative to a folder.
    openat, openat64 => (at: c_int, path: CText, flags: c_int, mode: mode_t) -> c_int {
        give(path.get().and_then(|path| open_file(at, path, flags, mode)))
    }

    /// Opens a file relative to a folder, never to create it.
    __openat_2, __openat64_2 => (at: c_int, path: CText, flags: c_int) -> c_int {
        give(path.get().and_then(|path| open_file(at, path, flags, 0)))
    }

    /// Makes or empties a file.
    creat, creat64 => (path: CText, mode: mode_t) -> c_int {
        give(path.get().and_then(|path| open_file(CWD, path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, mode)))
    }

    /// Opens a file as a stream.
    fopen, fopen64 => (path: CText, mode: CText) -> *mut libc::FILE {
        give(path.get().and_then(|path| stream(path, mode.get()?)))
    }

    /// Opens another file in an existing stream.
    freopen, freopen64 => (path: CText, mode: CText, stream: *mut libc::FILE) -> *mut libc::FILE {
        give(reopen(path, mode, stream))
    }

    /// A stream without a name.
    tmpfile, tmpfile64 => () -> *mut libc::FILE {
        give(unnamed())
    }
}

/// The flags that a stream's mode stands for.
fn flags_of(mode: &CStr) -> Answer<c_int> {
    let (first, more) = mode.to_bytes().split_first().ok_or(Errno(libc::EINVAL))?;
    let update = more.contains(&b'+');
    let mut flags = match first {
        b'r' => 0,
        b'w' => libc::O_CREAT | libc::O_TRUNC,
        b'a' => libc::O_CREAT | libc::O_APPEND,
        _ => return Err(Errno(libc::EINVAL)),
    };
    flags |= match (update, first) {
        (true, _) => libc::O_RDWR,
        (false, b'r') => libc::O_RDONLY,
        (false, _) => libc::O_WRONLY,
    };
    let options = more.split(|byte| *byte == b',').next().unwrap_or_default();
    for (letter, flag) in [(b'x', libc::O_EXCL), (b'e', libc::O_CLOEXEC)] {
        if options.contains(&letter) {
            flags |= flag;
        }
    }
    Ok(flags)
}

fn stream(path: &CStr, mode: &CStr) -> Answer<*mut libc::FILE> {
    let fd = open_file(CWD, path, flags_of(mode)?, 0o666)?;
    // SAFETY: the descriptor is ours and was opened in this mode.
    let stream = unsafe { libc::fdopen(fd, mode.as_ptr()) };
    if stream.is_null() {
        sys::close(fd);
        return Err(Errno(libc::ENOMEM));
    }
    Ok(stream)
}

fn reopen(path: CText, mode: CText, stream: *mut libc::FILE) -> Answer<*mut libc::FILE> {
    type Freopen = unsafe extern "C" fn(*const c_char, *const c_char, *mut libc::FILE) -> *mut libc::FILE;
    let real = next!("freopen" as Freopen).ok_or(Errno(libc::ENOSYS))?;
    if layer().is_none() || path.0.is_null() {
        // SAFETY: the caller's own arguments.
        return Ok(unsafe { real(path.0, mode.0, stream) });
    }
    let flags = flags_of(mode.get()?)?;
    // Opened once by our own rules, so that libc finds the file where it has to be, through this descriptor.
    let fd = sys::Fd(open_file(CWD, path.get()?, flags | libc::O_CLOEXEC, 0o666)?);
    let known = crate::layer::fd_path(fd.0)?;
    // SAFETY: two C strings and the caller's stream.
    Ok(unsafe { real(known.c().as_ptr(), plain_mode(flags).as_ptr(), stream) })
}

/// The mode of a stream over a file that exists by now.
fn plain_mode(flags: c_int) -> &'static CStr {
    match (flags & libc::O_ACCMODE, flags & libc::O_APPEND != 0) {
        (libc::O_RDONLY, _) => c"r",
        (libc::O_RDWR, true) => c"a+",
        (libc::O_RDWR, false) => c"r+",
        (_, true) => c"a",
        (_, false) => c"w",
    }
}

fn unnamed() -> Answer<*mut libc::FILE> {
    let Some(layer) = layer() else {
        let real = next!("tmpfile" as unsafe extern "C" fn() -> *mut libc::FILE).ok_or(Errno(libc::ENOSYS))?;
        // SAFETY: takes nothing.
        return Ok(unsafe { real() });
    };
    let name = crate::upper::work_name(layer)?;
    let fd = sys::open(name.c(), libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, 0o600)?;
    sys::unlink(name.c(), 0)?;
    // SAFETY: the descriptor is ours.
    Ok(unsafe { libc::fdopen(fd, c"w+".as_ptr()) })
}
