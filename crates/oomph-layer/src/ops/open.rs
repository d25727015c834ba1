//! Opening: reading finds the file in either tree, writing brings it into the layer first.

use std::ffi::{CStr, c_int};

use libc::mode_t;

use crate::layer::{Layer, layer};
use crate::shared_memory;
use crate::sys::{self, Answer, CWD, Errno};
use crate::text::ends_in_dots;
use crate::upper::{Content, copy_up, ensure_folder, prepare};
use crate::walk::{Last, Node, Place, is_dir, is_link, locate};

/// `openat`.
pub(crate) fn open(at: c_int, path: &CStr, flags: c_int, mode: mode_t) -> Answer<c_int> {
    let Some(layer) = layer().filter(|layer| layer.state.changed() || writes(flags)) else {
        return sys::openat(at, path, flags, mode);
    };
    let exclusive = flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0;
    let place = locate(layer, at, path.to_bytes(), last_of(path, flags, exclusive))?;
    if let Node::Through = place.node {
        let fd = sys::open(place.lower(), flags, mode)?;
        if flags & libc::O_CREAT != 0 {
            shared_memory::note_created(layer, place.path());
        }
        return Ok(fd);
    }
    if flags & libc::O_CREAT != 0 && names_folder(path) {
        return Err(Errno(libc::EISDIR));
    }
    if is_unnamed(flags) {
        return open_unnamed(layer, &place, flags, mode);
    }
    if place.stat().is_some() && exclusive {
        return Err(Errno(libc::EEXIST));
    }
    if let Node::Absent = place.node {
        return create(layer, &place, flags, mode);
    }
    // `O_CREAT` of a file that is there, only to read it, changes nothing.
    if writes(flags & !libc::O_CREAT) {
        bring_up(layer, &place, flags)?;
        if !is_special(&place) {
            return sys::open(place.upper(), existing(flags, &place), mode);
        }
    }
    if flags & libc::O_CREAT != 0 && place.stat().as_ref().is_some_and(is_dir) {
        return Err(Errno(libc::EISDIR));
    }
    sys::open(place.real(), existing(flags, &place), mode)
}

/// Does a path end in a slash after a name? No file is made there.
fn names_folder(path: &CStr) -> bool {
    path.to_bytes().ends_with(b"/") && !ends_in_dots(path.to_bytes())
}

fn last_of(path: &CStr, flags: c_int, exclusive: bool) -> Last {
    let refused = flags & libc::O_CREAT != 0 && names_folder(path);
    if exclusive || refused { Last::Named } else { Last::followed_if(flags & libc::O_NOFOLLOW == 0) }
}

/// Could this call change anything?
pub(crate) fn writes(flags: c_int) -> bool {
    let reads = flags & libc::O_ACCMODE == libc::O_RDONLY && flags & (libc::O_TRUNC | libc::O_CREAT) == 0;
    flags & libc::O_PATH == 0 && !reads
}

fn is_unnamed(flags: c_int) -> bool {
    flags & libc::O_TMPFILE == libc::O_TMPFILE
}

/// The flags for a file that is there already: it must not be made by the kernel in the wrong tree.
fn existing(flags: c_int, place: &Place) -> c_int {
    let flags = flags & !(libc::O_CREAT | libc::O_EXCL);
    if place.slash { flags | libc::O_DIRECTORY } else { flags }
}

/// Pipes, sockets and devices of the real tree: writing to them changes no file.
fn is_special(place: &Place) -> bool {
    let Node::Lower(stat) = &place.node else { return false };
    !matches!(stat.st_mode & libc::S_IFMT, libc::S_IFREG | libc::S_IFLNK | libc::S_IFDIR)
}

/// Brings a file that is about to be written into the layer.
fn bring_up(layer: &Layer, place: &Place, flags: c_int) -> Answer<()> {
    let stat = place.existing()?;
    if is_dir(&stat) {
        return Err(Errno(libc::EISDIR));
    }
    if flags & libc::O_DIRECTORY != 0 {
        return Err(Errno(libc::ENOTDIR));
    }
    if is_link(&stat) {
        return Err(Errno(libc::ELOOP));
    }
    if !matches!(place.node, Node::Lower(_)) || stat.st_mode & libc::S_IFMT != libc::S_IFREG {
        return Ok(());
    }
    let wanted = if flags & libc::O_ACCMODE == libc::O_WRONLY { libc::W_OK } else { libc::R_OK | libc::W_OK };
    sys::access(place.lower(), wanted)?;
    copy_up(layer, place, if flags & libc::O_TRUNC == 0 { Content::Copied } else { Content::Dropped })
}

fn create(layer: &Layer, place: &Place, flags: c_int, mode: mode_t) -> Answer<c_int> {
    if flags & libc::O_CREAT == 0 || flags & libc::O_PATH != 0 {
        return Err(Errno(libc::ENOENT));
    }
    prepare(layer, place)?;
    sys::open(place.upper(), flags, mode)
}

/// `O_TMPFILE`: a file without a name in a folder.
fn open_unnamed(layer: &Layer, place: &Place, flags: c_int, mode: mode_t) -> Answer<c_int> {
    if !is_dir(&place.existing()?) {
        return Err(Errno(libc::ENOTDIR));
    }
    if matches!(place.node, Node::Lower(_) | Node::Merged { .. }) {
        sys::access(place.lower(), libc::W_OK | libc::X_OK)?;
    }
    ensure_folder(layer, place.path())?;
    sys::openat(CWD, place.upper(), flags, mode)
}
