//! `opendir` and what lists a folder.

use std::ffi::{c_int, c_long};

use libc::{DIR, dirent64};

use super::{CText, Out, door, give, give_done, next, set_errno};
use crate::layer::{Layer, layer};
use crate::listing::Stream;
use crate::ops::open::open;
use crate::sys::{self, Answer, CWD, Errno};
use crate::walk::{Last, Place, locate_absolute, start_of};

const OPEN_FLAGS: c_int = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC | libc::O_NONBLOCK;

/// The folder that an open descriptor stands for in the merged tree; none where it has no path any more.
fn place_of(layer: &Layer, fd: c_int) -> Option<Place> {
    locate_absolute(layer, start_of(layer, fd).ok()?, Last::Kept).ok().filter(|place| place.stat().is_some())
}

fn list_fd(layer: &Layer, fd: c_int) -> Answer<*mut DIR> {
    if sys::fstat(fd)?.st_mode & libc::S_IFMT != libc::S_IFDIR {
        return Err(Errno(libc::ENOTDIR));
    }
    let stream = Stream::new(layer, fd, place_of(layer, fd).as_ref())?;
    Ok(Box::into_raw(Box::new(stream)).cast())
}

pub(super) fn list_path(layer: &Layer, at: c_int, path: CText) -> Answer<*mut DIR> {
    let fd = open(at, path.get()?, OPEN_FLAGS, 0)?;
    list_fd(layer, fd).inspect_err(|_| sys::close(fd))
}

/// The stream behind a `DIR`, where there is a layer: then every `DIR` of this process is one of ours.
fn stream<'a>(dir: *mut DIR) -> Option<&'a mut Stream> {
    layer()?;
    // SAFETY: a caller hands back what `opendir` or `fdopendir` gave it, from one thread at a time.
    unsafe { dir.cast::<Stream>().as_mut() }
}

fn next_entry(stream: &mut Stream) -> *mut dirent64 {
    match stream.next() {
        Ok(Some(entry)) => entry,
        Ok(None) => std::ptr::null_mut(),
        Err(errno) => {
            set_errno(errno);
            std::ptr::null_mut()
        }
    }
}

/// The next entry, copied to where the caller wants it.
fn copy_entry(stream: &mut Stream, entry: *mut dirent64, result: Out<*mut dirent64>) -> c_int {
    let found = match stream.next() {
        Ok(Some(found)) => found,
        Ok(None) => return result.put(std::ptr::null_mut()).map_or(libc::EFAULT, |()| 0),
        Err(errno) => return errno.0,
    };
    // SAFETY: a record is as long as it says, and the caller's `dirent64` takes the longest name.
    unsafe {
        let bytes = usize::from((*found).d_reclen).min(size_of::<dirent64>());
        std::ptr::copy_nonoverlapping(found.cast::<u8>(), entry.cast::<u8>(), bytes);
    }
    result.put(entry).map_or(libc::EFAULT, |()| 0)
}

type OfDir<T> = unsafe extern "C" fn(*mut DIR) -> T;

/// Calls the next library's function where there is no layer.
macro_rules! passed_on {
    ($name:literal as $type:ty, $($arg:expr),*) => {
        match next!($name as $type) {
            // SAFETY: the caller's own arguments.
            Some(real) => unsafe { real($($arg),*) },
            None => std::process::abort(),
        }
    };
}

door! {
    /// Opens a folder for listing.
    opendir => (path: CText) -> *mut DIR {
        match layer() {
            Some(layer) => give(list_path(layer, CWD, path)),
            None => passed_on!("opendir" as unsafe extern "C" fn(CText) -> *mut DIR, path),
        }
    }

    /// Lists an open folder.
    fdopendir => (fd: c_int) -> *mut DIR {
        match layer() {
            Some(layer) => give(list_fd(layer, fd)),
            None => passed_on!("fdopendir" as unsafe extern "C" fn(c_int) -> *mut DIR, fd),
        }
    }

    /// The next entry.
    readdir, readdir64 => (dir: *mut DIR) -> *mut dirent64 {
        match stream(dir) {
            Some(stream) => next_entry(stream),
            None => passed_on!("readdir64" as OfDir<*mut dirent64>, dir),
        }
    }

    /// The next entry, in the caller's own memory.
    readdir_r, readdir64_r => (dir: *mut DIR, entry: *mut dirent64, result: Out<*mut dirent64>) -> c_int {
        type ReaddirR = unsafe extern "C" fn(*mut DIR, *mut dirent64, Out<*mut dirent64>) -> c_int;
        match stream(dir) {
            Some(stream) => copy_entry(stream, entry, result),
            None => passed_on!("readdir64_r" as ReaddirR, dir, entry, result),
        }
    }

    /// Ends a listing.
    closedir => (dir: *mut DIR) -> c_int {
        if layer().is_none() {
            return passed_on!("closedir" as OfDir<c_int>, dir);
        }
        if dir.is_null() {
            return give_done(Err(Errno(libc::EINVAL)));
        }
        // SAFETY: the caller gives back what `opendir` made, once.
        let stream = unsafe { Box::from_raw(dir.cast::<Stream>()) };
        sys::close(stream.fd);
        0
    }

    /// Starts a listing anew.
    rewinddir => (dir: *mut DIR) -> () {
        match stream(dir) {
            Some(stream) => {
                let _ = sys::seek(stream.fd, 0, libc::SEEK_SET);
                if let Some(layer) = layer() {
                    let _ = stream.start(layer, place_of(layer, stream.fd).as_ref());
                }
            }
            None => passed_on!("rewinddir" as OfDir<()>, dir),
        }
    }

    /// Where the next entry is.
    telldir => (dir: *mut DIR) -> c_long {
        match stream(dir) {
            Some(stream) => stream.position(),
            None => passed_on!("telldir" as OfDir<c_long>, dir),
        }
    }

    /// Goes to where `telldir` said.
    seekdir => (dir: *mut DIR, position: c_long) -> () {
        match stream(dir) {
            Some(stream) => stream.seek(position),
            None => passed_on!("seekdir" as unsafe extern "C" fn(*mut DIR, c_long), dir, position),
        }
    }

    /// The open folder behind a listing.
    dirfd => (dir: *mut DIR) -> c_int {
        match stream(dir) {
            Some(stream) => stream.fd,
            None => passed_on!("dirfd" as OfDir<c_int>, dir),
        }
    }
}
