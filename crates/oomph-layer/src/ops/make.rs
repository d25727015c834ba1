//! Making folders, links and special files in the layer.

use std::ffi::{CStr, c_int};

use libc::mode_t;

use crate::layer::{Layer, layer};
use crate::sys::{self, Answer, CWD, Errno};
use crate::text::below;
use crate::upper::{Content, copy_up, prepare};
use crate::walk::{Last, Node, Place, is_dir, locate};

/// The place for a new entry: nothing may be there yet.
fn vacant(layer: &Layer, at: c_int, path: &CStr) -> Answer<Place> {
    let place = locate(layer, at, path.to_bytes(), Last::Named)?;
    match place.node {
        Node::Absent | Node::Through => Ok(place),
        _ => Err(Errno(libc::EEXIST)),
    }
}

/// `mkdirat`.
pub(crate) fn mkdir(at: c_int, path: &CStr, mode: mode_t) -> Answer<()> {
    let Some(layer) = layer() else { return sys::mkdir_at(at, path, mode) };
    let place = vacant(layer, at, path)?;
    if let Node::Through = place.node {
        return sys::mkdir(place.lower(), mode);
    }
    prepare(layer, &place)?;
    sys::mkdir(place.upper(), mode)
}

/// `mknodat`.
pub(crate) fn mknod(at: c_int, path: &CStr, mode: mode_t, device: u64) -> Answer<()> {
    let Some(layer) = layer() else { return sys::mknod_at(at, path, mode, device) };
    let place = vacant(layer, at, path)?;
    if let Node::Through = place.node {
        return sys::mknod(place.lower(), mode, device);
    }
    if place.slash {
        return Err(Errno(libc::ENOENT));
    }
    prepare(layer, &place)?;
    sys::mknod(place.upper(), mode, device)
}

/// `symlinkat`.
pub(crate) fn symlink(target: &CStr, at: c_int, path: &CStr) -> Answer<()> {
    let Some(layer) = layer() else { return sys::symlink_at(target, at, path) };
    let place = vacant(layer, at, path)?;
    if let Node::Through = place.node {
        return sys::symlink(target, place.lower());
    }
    if place.slash {
        return Err(Errno(libc::ENOENT));
    }
    if target.is_empty() {
        return Err(Errno(libc::ENOENT));
    }
    prepare(layer, &place)?;
    let target = crate::text::Text::from(&[below(target.to_bytes(), &layer.root).unwrap_or(target.to_bytes())])?;
    sys::symlink(target.c(), place.upper())
}

/// `linkat`.
pub(crate) fn link(from_at: c_int, from: &CStr, at: c_int, path: &CStr, flags: c_int) -> Answer<()> {
    let Some(layer) = layer() else { return sys::link_at(from_at, from, at, path, flags) };
    if from.is_empty() {
        return link_open_file(layer, from_at, from, at, path, flags);
    }
    let source = locate(layer, from_at, from.to_bytes(), Last::followed_if(flags & libc::AT_SYMLINK_FOLLOW != 0))?;
    if let Node::Through = source.node {
        return link_open_file(layer, CWD, source.lower(), at, path, flags);
    }
    let linked = source.existing()?;
    let place = vacant(layer, at, path)?;
    if is_dir(&linked) {
        return Err(Errno(libc::EPERM));
    }
    if let Node::Through = place.node {
        return sys::link(CWD, source.real(), place.lower(), 0);
    }
    if place.slash {
        return Err(Errno(libc::ENOENT));
    }
    prepare(layer, &place)?;
    copy_up(layer, &source, Content::Copied)?;
    sys::link(CWD, source.upper(), place.upper(), 0)
}

/// Gives a name to an open file: one without a name (`O_TMPFILE`), or one that `/proc/self/fd` names.
fn link_open_file(layer: &Layer, from_at: c_int, from: &CStr, at: c_int, path: &CStr, flags: c_int) -> Answer<()> {
    let place = vacant(layer, at, path)?;
    if let Node::Through = place.node {
        return sys::link(from_at, from, place.lower(), flags);
    }
    prepare(layer, &place)?;
    sys::link(from_at, from, place.upper(), flags)
}
