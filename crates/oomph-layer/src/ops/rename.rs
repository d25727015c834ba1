//! Renaming: what is renamed is brought into the layer, then the kernel renames it there, at once as always.

use std::ffi::{CStr, c_int, c_uint};

use crate::layer::{Layer, layer};
use crate::listing;
use crate::state::PathHash;
use crate::sys::{self, Answer, Errno};
use crate::text::{below, ends_in_dots};
use crate::upper::{Content, copy_up, mark_removed, may_remove, prepare, touch_folder};
use crate::walk::{Last, Node, Place, is_dir, locate};

/// `renameat2`.
pub(crate) fn rename(from_at: c_int, from: &CStr, to_at: c_int, to: &CStr, flags: c_uint) -> Answer<()> {
    let Some(layer) = layer() else { return sys::rename_at(from_at, from, to_at, to, flags) };
    let source = locate(layer, from_at, from.to_bytes(), Last::Named)?;
    let target = locate(layer, to_at, to.to_bytes(), Last::Named)?;
    match (&source.node, &target.node) {
        (Node::Through, Node::Through) => return sys::rename(source.lower(), target.lower(), flags),
        (Node::Through, _) | (_, Node::Through) => return Err(Errno(libc::EXDEV)),
        _ => {}
    }
    if ends_in_dots(from.to_bytes()) {
        return Err(Errno(libc::EBUSY));
    }
    if ends_in_dots(to.to_bytes()) {
        return Err(Errno(if flags & libc::RENAME_NOREPLACE == 0 { libc::EBUSY } else { libc::EEXIST }));
    }
    let moving = is_dir(&source.found()?);
    check_names(&source, &target, flags)?;
    if flags & libc::RENAME_EXCHANGE == 0 {
        check_kinds(layer, &source, &target)?;
    }
    if is_same(&source, &target) {
        return Ok(());
    }
    may_remove(&source)?;
    may_remove(&target)?;
    prepare(layer, &source)?;
    prepare(layer, &target)?;
    if flags & libc::RENAME_EXCHANGE != 0 {
        layer.state.changing_folders(|| exchange(layer, &source, &target, flags))?;
    } else if moving {
        layer.state.changing_folders(|| move_folder(layer, &source, &target, flags))?;
    } else {
        bring_up(layer, &source)?;
        mark_covered(layer, &source)?;
        sys::rename(source.upper(), target.upper(), flags)?;
    }
    touch_folder(layer, source.path())?;
    touch_folder(layer, target.path())
}

fn move_folder(layer: &Layer, source: &Place, target: &Place, flags: c_uint) -> Answer<()> {
    bring_up(layer, source)?;
    mark_covered(layer, source)?;
    layer.state.add_moved(PathHash::of(target.path()));
    mark_covered(layer, target)?;
    sys::rename(source.upper(), target.upper(), flags)
}

/// What the kernel would refuse if it saw the merged tree: whether names are there, slashes, folders in themselves.
fn check_names(source: &Place, target: &Place, flags: c_uint) -> Answer<()> {
    let exchanging = flags & libc::RENAME_EXCHANGE != 0;
    let inside = |outer: &Place, inner: &Place| below(inner.path(), outer.path()).is_some_and(|rest| !rest.is_empty());
    if flags & libc::RENAME_NOREPLACE != 0 && target.stat().is_some() {
        return Err(Errno(libc::EEXIST));
    }
    if exchanging && target.slash && !is_dir(&target.found()?) {
        return Err(Errno(libc::ENOTDIR));
    }
    if exchanging {
        target.found()?;
    }
    if !is_dir(&source.found()?) && (source.slash || target.slash && !exchanging) {
        return Err(Errno(libc::ENOTDIR));
    }
    if inside(source, target) {
        return Err(Errno(libc::EINVAL));
    }
    match inside(target, source) {
        true if exchanging => Err(Errno(libc::EINVAL)),
        true => Err(Errno(libc::ENOTEMPTY)),
        false => Ok(()),
    }
}

/// A folder replaces only an empty folder, a file only a file.
fn check_kinds(layer: &Layer, source: &Place, target: &Place) -> Answer<()> {
    let Some(there) = target.stat() else { return Ok(()) };
    match (is_dir(&source.found()?), is_dir(&there)) {
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
    sys::rename(source.upper(), target.upper(), flags)
}
