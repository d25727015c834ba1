//! `scandir` and `glob`: libc's own open folders without asking us, so they are given our functions to do it.

use std::ffi::{c_char, c_int, c_void};

use libc::{DIR, dirent64, stat as Stat};

use super::folders::{closedir, list_path, readdir};
use super::stats::{lstat, stat};
use super::{CText, Out, door, give, next};
use crate::layer::layer;
use crate::sys::{Answer, CWD, Errno};

type Select = Option<unsafe extern "C" fn(*const dirent64) -> c_int>;
type Comparison = unsafe extern "C" fn(*const *const dirent64, *const *const dirent64) -> c_int;
type Compare = Option<Comparison>;
/// A list from `malloc` of entries from `malloc`: the caller frees all of it.
type Entries = *mut *mut dirent64;

fn scan(at: c_int, path: CText, into: Out<Entries>, select: Select, compare: Compare) -> Answer<c_int> {
    let Some(layer) = layer() else {
        type Scandirat = unsafe extern "C" fn(c_int, CText, Out<Entries>, Select, Compare) -> c_int;
        let real = next!("scandirat" as Scandirat).ok_or(Errno(libc::ENOSYS))?;
        // SAFETY: the caller's own arguments.
        return Ok(unsafe { real(at, path, into, select, compare) });
    };
    let dir = list_path(layer, at, path)?;
    let mut found = Vec::new();
    loop {
        let entry = readdir(dir);
        if entry.is_null() {
            break;
        }
        // SAFETY: an entry of the listing, which the caller's function looks at.
        if select.is_none_or(|select| unsafe { select(entry) } != 0) {
            found.push(copy_of(entry));
        }
    }
    closedir(dir);
    let list = list_of(&found)?;
    if let Some(compare) = compare {
        type OfPlaces = unsafe extern "C" fn(*const c_void, *const c_void) -> c_int;
        // SAFETY: the caller's function compares two places in a list of pointers to entries, as `qsort` calls it.
        unsafe {
            let compare = std::mem::transmute::<Comparison, OfPlaces>(compare);
            libc::qsort(list.cast(), found.len(), size_of::<*mut dirent64>(), Some(compare));
        }
    }
    into.put(list)?;
    Ok(found.len() as c_int)
}

/// An entry in memory of its own.
fn copy_of(entry: *const dirent64) -> *mut dirent64 {
    // SAFETY: an entry is as long as it says; where there is no memory the program cannot go on either.
    unsafe {
        let bytes = usize::from((*entry).d_reclen);
        let copy = libc::malloc(bytes);
        if !copy.is_null() {
            std::ptr::copy_nonoverlapping(entry.cast::<u8>(), copy.cast(), bytes);
        }
        copy.cast()
    }
}

fn list_of(found: &[*mut dirent64]) -> Answer<Entries> {
    // SAFETY: room for at least one pointer, checked before it is filled.
    let list: Entries = unsafe { libc::malloc(found.len().max(1) * size_of::<*mut dirent64>()) }.cast();
    if list.is_null() || found.iter().any(|entry| entry.is_null()) {
        return Err(Errno(libc::ENOMEM));
    }
    // SAFETY: there is room for all of them.
    unsafe { std::ptr::copy_nonoverlapping(found.as_ptr(), list, found.len()) };
    Ok(list)
}

/// `glob_t` as glibc has it: what was found, and who looks.
#[repr(C)]
pub(crate) struct Glob {
    count: usize,
    paths: *mut *mut c_char,
    reserved: usize,
    flags: c_int,
    close: extern "C" fn(*mut DIR) -> c_int,
    read: extern "C" fn(*mut DIR) -> *mut dirent64,
    open: extern "C" fn(CText) -> *mut DIR,
    lstat: extern "C" fn(CText, Out<Stat>) -> c_int,
    stat: extern "C" fn(CText, Out<Stat>) -> c_int,
}

type OnError = Option<unsafe extern "C" fn(*const c_char, c_int) -> c_int>;

fn search(pattern: CText, flags: c_int, on_error: OnError, into: *mut Glob) -> Answer<c_int> {
    const GLOB_ALTDIRFUNC: c_int = 1 << 9;
    type RealGlob = unsafe extern "C" fn(CText, c_int, OnError, *mut Glob) -> c_int;
    let real = next!("glob64" as RealGlob).ok_or(Errno(libc::ENOSYS))?;
    let ours = layer().is_some() && flags & GLOB_ALTDIRFUNC == 0 && !into.is_null();
    if ours {
        // SAFETY: the caller's own `glob_t`; these fields are unused without the flag.
        unsafe {
            (&raw mut (*into).close).write(closedir);
            (&raw mut (*into).read).write(readdir);
            (&raw mut (*into).open).write(super::folders::opendir);
            (&raw mut (*into).lstat).write(lstat);
            (&raw mut (*into).stat).write(stat);
        }
    }
    let flags = if ours { flags | GLOB_ALTDIRFUNC } else { flags };
    // SAFETY: the caller's own arguments.
    Ok(unsafe { real(pattern, flags, on_error, into) })
}

door! {
    /// Lists a folder, sorted and filtered.
    scandir, scandir64 => (path: CText, into: Out<Entries>, select: Select, compare: Compare) -> c_int {
        give(scan(CWD, path, into, select, compare))
    }

    /// Lists a folder relative to a folder, sorted and filtered.
    scandirat, scandirat64 =>
        (at: c_int, path: CText, into: Out<Entries>, select: Select, compare: Compare) -> c_int {
        give(scan(at, path, into, select, compare))
    }

    /// Finds the paths that match a pattern.
    glob, glob64 => (pattern: CText, flags: c_int, on_error: OnError, into: *mut Glob) -> c_int {
        search(pattern, flags, on_error, into).unwrap_or(libc::GLOB_NOSPACE)
    }
}
