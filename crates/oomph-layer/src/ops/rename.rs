//! Renaming: what is renamed is brought into the layer, then the kernel renames it there, at once as always.

use std::ffi::{CStr, c_int, c_uint};

use crate::layer::{Layer, layer};
use crate::listing;
use crate::state::PathHash;
use crate::sys::{self, Answer, Errno};
use crate::text::below;
use crate::upper::{Content, copy_up, mark_removed, may_remove, prepare, touch_folder};
use crate::walk::{Node, Place, is_dir, locate};

/// `renameat2`.
pub(crate) fn rename(from_at: c_int, from: &CStr, to_at: c_int, to: &CStr, flags: c_uint) -> Answer<()> {
    let Some(layer) = layer() else { return sys::rename_at(from_at, from, to_at, to, flags) };
    let source = locate(layer, from_at, from.to_bytes(), false)?;
    let target = locate(layer, to_at, to.to_bytes(), false)?;
    match (&source.node, &target.node) {
        (Node::Through, Node::Through) => return sys::rename(source.lower(), target.lower(), flags),
        (Node::Through, _) | (_, Node::Through) => return Err(Errno(libc::EXDEV)),
        _ => {}
    }
    for named in [from, to] {
        if ends_in_dots(named.to_bytes()) {
            return Err(Errno(libc::EBUSY));
        }
    }
    let moving = is_dir(&source.existing()?);
    if flags & libc::RENAME_NOREPLACE != 0 && target.stat().is_some() {
        return Err(Errno(libc::EEXIST));
    }
    check_kinds(layer, &source, &target, flags)?;
    if is_same(&source, &target) {
        return Ok(());
    }
    may_remove(&source)?;
    may_remove(&target)?;
    prepare(layer, &source)?;
    prepare(layer, &target)?;
    if flags & libc::RENAME_EXCHANGE != 0 {
        return exchange(layer, &source, &target, flags);
    }
    bring_up(layer, &source)?;
    mark_covered(layer, &source)?;
    if moving {
        layer.state.add_moved(PathHash::of(target.path()));
        mark_covered(layer, &target)?;
    }
    sys::rename(source.upper(), target.upper(), flags)?;
    touch_folder(layer, source.path())?;
    touch_folder(layer, target.path())
}

fn ends_in_dots(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name == b"." || name == b".."
}

/// What the kernel would refuse if it saw the merged tree.
fn check_kinds(layer: &Layer, source: &Place, target: &Place, flags: c_uint) -> Answer<()> {
    let moving = is_dir(&source.existing()?);
    let inside = |outer: &Place, inner: &Place| below(inner.path(), outer.path()).is_some_and(|rest| !rest.is_empty());
    if moving && inside(source, target) {
        return Err(Errno(libc::EINVAL));
    }
    let Some(there) = target.stat() else {
        let wanted = if target.slash && !moving { Err(Errno(libc::ENOTDIR)) } else { Ok(()) };
        return if flags & libc::RENAME_EXCHANGE != 0 { Err(Errno(libc::ENOENT)) } else { wanted };
    };
    if flags & libc::RENAME_EXCHANGE != 0 {
        return if inside(target, source) { Err(Errno(libc::EINVAL)) } else { Ok(()) };
    }
    if inside(target, source) {
        return Err(Errno(libc::ENOTEMPTY));
    }
    match (moving, is_dir(&there)) {
        (true, false) => Err(Errno(libc::ENOTDIR)),
        (false, true) => Err(Errno(libc::EISDIR)),
        (true, true) if source.path() != target.path() && !listing::is_empty(layer, target)? => {
            Err(Errno(libc::ENOTEMPTY))
        }
        _ => Ok(()),
    }
}

/// Two names of one file: the kernel leaves both.
fn is_same(source: &Place, target: &Place) -> bool {
    source.path() == target.path()
        || match (&source.node, &target.node) {
            (Node::Lower(from), Node::Lower(to)) => (from.st_dev, from.st_ino) == (to.st_dev, to.st_ino),
            _ => false,
        }
}

/// Hides the real file or folder of this path for good: what the layer has in its place stands alone.
fn mark_covered(layer: &Layer, place: &Place) -> Answer<()> {
    if place.covers(layer) { mark_removed(layer, place.path()) } else { Ok(()) }
}

/// Makes everything at and below a place independent of the real tree.
fn bring_up(layer: &Layer, place: &Place) -> Answer<()> {
    copy_up(layer, place, Content::Copied)?;
    if matches!(&place.node, Node::Merged { .. }) || matches!(&place.node, Node::Lower(stat) if is_dir(stat)) {
        listing::for_each_child(layer, place, &mut |child| bring_up(layer, &child))?;
    }
    Ok(())
}

fn exchange(layer: &Layer, source: &Place, target: &Place, flags: c_uint) -> Answer<()> {
    for place in [source, target] {
        bring_up(layer, place)?;
        mark_covered(layer, place)?;
        layer.state.add_moved(PathHash::of(place.path()));
    }
    sys::rename(source.upper(), target.upper(), flags)?;
    touch_folder(layer, source.path())?;
    touch_folder(layer, target.path())
}
