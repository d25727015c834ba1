//! Functions that answer with a path.

use std::ffi::{c_char, c_int};

use super::{CText, door, give, give_done, next};
use crate::layer::layer;
use crate::ops::read;
use crate::sys::{Answer, CWD, Errno};
use crate::text::{PATH_BYTES, Text};

/// A buffer that a C caller wants a path in: null, or valid for the number of bytes that comes with it.
type Buffer = *mut c_char;

/// Writes as much of a link's target as there is room for, without a NUL.
fn put_target(at: c_int, path: CText, into: Buffer, room: usize) -> Answer<isize> {
    let target = read::readlink(at, path.get()?)?;
    if room == 0 || (room as isize) < 0 {
        return Err(Errno(libc::EINVAL));
    }
    let bytes = target.bytes().len().min(room);
    // SAFETY: the caller says that there is room for that many bytes.
    unsafe { std::ptr::copy_nonoverlapping(target.bytes().as_ptr(), into.cast(), bytes) };
    Ok(bytes as isize)
}

/// Writes a path with its NUL into a buffer, or into one from `malloc` where none was given.
fn put_path(path: &Text, into: Buffer, room: usize) -> Answer<Buffer> {
    let needed = path.len() + 1;
    let (into, room) = if into.is_null() {
        let room = room.max(needed);
        // SAFETY: the result is checked; the caller frees it.
        (unsafe { libc::malloc(room) }.cast(), room)
    } else {
        (into, room)
    };
    if into.is_null() {
        return Err(Errno(libc::ENOMEM));
    }
    if room < needed {
        return Err(Errno(libc::ERANGE));
    }
    // SAFETY: there is room for the path and its NUL, as was checked.
    unsafe { std::ptr::copy_nonoverlapping(path.c().as_ptr(), into, needed) };
    Ok(into)
}

fn put_cwd(into: Buffer, room: usize) -> Answer<Buffer> {
    if !into.is_null() && room == 0 {
        return Err(Errno(libc::EINVAL));
    }
    let cwd = read::getcwd()?;
    if into.is_null() && room != 0 && room <= cwd.len() {
        return Err(Errno(libc::ERANGE));
    }
    put_path(&cwd, into, room)
}

fn put_real(path: CText, into: Buffer) -> Answer<Buffer> {
    if path.0.is_null() {
        return Err(Errno(libc::EINVAL));
    }
    let Some(layer) = layer() else {
        type Realpath = unsafe extern "C" fn(*const c_char, *mut c_char) -> *mut c_char;
        let real = next!("realpath" as Realpath).ok_or(Errno(libc::ENOSYS))?;
        // SAFETY: the caller's own arguments.
        return Ok(unsafe { real(path.0, into) });
    };
    put_path(&read::realpath(layer, path.get()?)?, into, PATH_BYTES)
}

door! {
    /// The target of a link.
    readlink => (path: CText, into: *mut c_char, room: usize) -> isize { give(put_target(CWD, path, into, room)) }

    /// The target of a link relative to a folder.
    readlinkat => (at: c_int, path: CText, into: *mut c_char, room: usize) -> isize {
        give(put_target(at, path, into, room))
    }

    /// `readlink` with its buffer's size checked.
    __readlink_chk => (path: CText, into: *mut c_char, room: usize, _size: usize) -> isize {
        give(put_target(CWD, path, into, room))
    }

    /// `readlinkat` with its buffer's size checked.
    __readlinkat_chk => (at: c_int, path: CText, into: *mut c_char, room: usize, _size: usize) -> isize {
        give(put_target(at, path, into, room))
    }

    /// The working directory.
    getcwd => (into: *mut c_char, room: usize) -> *mut c_char { give(put_cwd(into, room)) }

    /// `getcwd` with its buffer's size checked.
    __getcwd_chk => (into: *mut c_char, room: usize, _size: usize) -> *mut c_char { give(put_cwd(into, room)) }

    /// The working directory in a buffer of its own.
    get_current_dir_name => () -> *mut c_char { give(put_cwd(std::ptr::null_mut(), 0)) }

    /// The working directory in a buffer of the greatest length.
    getwd => (into: *mut c_char) -> *mut c_char { give(put_cwd(into, PATH_BYTES)) }

    /// `getwd` with its buffer's size checked.
    __getwd_chk => (into: *mut c_char, size: usize) -> *mut c_char { give(put_cwd(into, size)) }

    /// A path without links and dots.
    realpath => (path: CText, into: *mut c_char) -> *mut c_char { give(put_real(path, into)) }

    /// `realpath` with its buffer's size checked.
    __realpath_chk => (path: CText, into: *mut c_char, _size: usize) -> *mut c_char { give(put_real(path, into)) }

    /// `realpath` in a buffer of its own.
    canonicalize_file_name => (path: CText) -> *mut c_char { give(put_real(path, std::ptr::null_mut())) }

    /// Changes the working directory.
    chdir => (path: CText) -> c_int { give_done(path.get().and_then(read::chdir)) }
}
