//! Removing: what is in the layer goes, what is in the real tree is marked as removed.

use std::ffi::{CStr, c_int};

use crate::layer::{Layer, layer};
use crate::listing;
use crate::shared_memory;
use crate::sys::{self, Answer, Errno};
use crate::upper::{mark_removed, may_change_folder, may_remove, touch_folder, unmark};
use crate::walk::{Last, Node, Place, is_dir, locate};

/// `unlinkat`.
pub(crate) fn unlink(at: c_int, path: &CStr, flags: c_int) -> Answer<()> {
    let Some(layer) = layer() else { return sys::unlink_at(at, path, flags) };
    let place = locate(layer, at, path.to_bytes(), Last::Named)?;
    if let Node::Through = place.node {
        sys::unlink(place.lower(), flags)?;
        shared_memory::note_removed(layer, place.path());
        return Ok(());
    }
    if flags & libc::AT_REMOVEDIR != 0 {
        layer.state.changing_folders(|| remove_folder(layer, &place, path))
    } else {
        remove_file(layer, &place)
    }
}

fn remove_file(layer: &Layer, place: &Place) -> Answer<()> {
    if is_dir(&place.existing()?) {
        return Err(Errno(libc::EISDIR));
    }
    may_change_folder(layer, place)?;
    may_remove(place)?;
    if place.covers(layer) {
        mark_removed(layer, place.path())?;
    }
    if let Node::Upper(_) = place.node {
        sys::unlink(place.upper(), 0)?;
    }
    touch_folder(layer, place.path())
}

fn remove_folder(layer: &Layer, place: &Place, named: &CStr) -> Answer<()> {
    if named.to_bytes().ends_with(b"/.") || named.to_bytes() == b"." {
        return Err(Errno(libc::EINVAL));
    }
    if !is_dir(&place.existing()?) {
        return Err(Errno(libc::ENOTDIR));
    }
    if place.path().is_empty() {
        return Err(Errno(libc::EBUSY));
    }
    may_change_folder(layer, place)?;
    may_remove(place)?;
    if !listing::is_empty(layer, place)? {
        return Err(Errno(libc::ENOTEMPTY));
    }
    let marked = place.covers(layer);
    if marked {
        mark_removed(layer, place.path())?;
    }
    if !matches!(place.node, Node::Lower(_)) {
        let removed = sys::unlink(place.upper(), libc::AT_REMOVEDIR);
        // Somebody has put a file into it since: it stays.
        if removed.is_err() && marked {
            unmark(layer, place.path())?;
        }
        removed?;
    }
    touch_folder(layer, place.path())
}
