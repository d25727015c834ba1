//! Extended attributes: asked where the file is, set on its copy in the layer.

use std::ffi::{CStr, c_int, c_void};

use crate::layer::layer;
use crate::ops::attributes::{changed_copy, must_own};
use crate::ops::read::real_path;
use crate::sys::{self, Answer, CWD};
use crate::upper::{Content, copy_up};
use crate::walk::{Last, Node, locate};

/// A value that a C caller hands over or wants filled, with its size.
#[derive(Clone, Copy)]
pub(crate) struct Value(pub(crate) *mut c_void, pub(crate) usize);

/// `getxattr` and `lgetxattr`.
pub(crate) fn get(path: &CStr, name: &CStr, value: Value, follow: bool) -> Answer<usize> {
    sys::get_attribute(real_path(CWD, path, follow)?.c(), name, value.0, value.1, follow)
}

/// `listxattr` and `llistxattr`.
pub(crate) fn list(path: &CStr, value: Value, follow: bool) -> Answer<usize> {
    sys::list_attributes(real_path(CWD, path, follow)?.c(), value.0, value.1, follow)
}

/// `setxattr` and `lsetxattr`.
pub(crate) fn set(path: &CStr, name: &CStr, value: Value, flags: c_int, follow: bool) -> Answer<()> {
    on_copy(path, follow, |path| sys::set_attribute(path, name, value.0, value.1, flags, follow))
}

/// `removexattr` and `lremovexattr`.
pub(crate) fn remove(path: &CStr, name: &CStr, follow: bool) -> Answer<()> {
    on_copy(path, follow, |path| sys::remove_attribute(path, name, follow))
}

/// `fsetxattr`.
pub(crate) fn set_open(fd: c_int, name: &CStr, value: Value, flags: c_int) -> Answer<()> {
    match changed_copy(fd, must_own)? {
        Some(place) => sys::set_attribute(place.upper(), name, value.0, value.1, flags, false),
        None => sys::set_fd_attribute(fd, name, value.0, value.1, flags),
    }
}

/// `fremovexattr`.
pub(crate) fn remove_open(fd: c_int, name: &CStr) -> Answer<()> {
    match changed_copy(fd, must_own)? {
        Some(place) => sys::remove_attribute(place.upper(), name, false),
        None => sys::remove_fd_attribute(fd, name),
    }
}

fn on_copy(path: &CStr, follow: bool, change: impl FnOnce(&CStr) -> Answer<()>) -> Answer<()> {
    let Some(layer) = layer() else { return change(path) };
    let place = locate(layer, CWD, path.to_bytes(), Last::followed_if(follow))?;
    if let Node::Through = place.node {
        return change(place.lower());
    }
    place.existing()?;
    must_own(&place)?;
    copy_up(layer, &place, Content::Copied)?;
    change(place.upper())
}
