//! Looking: nothing here changes anything.

use std::ffi::{CStr, c_int};

use libc::{stat as Stat, statx as Statx};

use crate::layer::{Layer, changed_layer, layer};
use crate::sys::{self, Answer, CWD, Errno};
use crate::text::Text;
use crate::walk::{Last, Node, Place, is_dir, is_link, locate, locate_absolute, merged_stat, start_of};

/// `fstatat`.
pub(crate) fn stat(at: c_int, path: &CStr, flags: c_int) -> Answer<Stat> {
    let Some(layer) = changed_layer() else { return sys::stat_at(at, path, flags) };
    if path.is_empty() {
        return stat_fd(at, path, flags);
    }
    let place = locate(layer, at, path.to_bytes(), Last::followed_if(flags & libc::AT_SYMLINK_NOFOLLOW == 0))?;
    match place.node {
        Node::Through => sys::stat_at(CWD, place.lower(), flags),
        _ => place.existing(),
    }
}

/// `fstat`, and `fstatat` with an empty path.
fn stat_fd(fd: c_int, path: &CStr, flags: c_int) -> Answer<Stat> {
    let stat = sys::stat_at(fd, path, flags)?;
    Ok(merged_folder(fd, &stat).map_or(stat, |(upper, lower)| merged_stat(&upper, &lower)))
}

/// Both sides of an open folder that exists in both trees.
fn merged_folder(fd: c_int, stat: &Stat) -> Option<(Stat, Stat)> {
    let layer = changed_layer().filter(|_| is_dir(stat))?;
    let place = locate_absolute(layer, start_of(layer, fd).ok()?, Last::Kept).ok()?;
    match place.node {
        Node::Merged { upper, lower } => Some((upper, lower)),
        _ => None,
    }
}

/// `fstat`.
pub(crate) fn fstat(fd: c_int) -> Answer<Stat> {
    stat_fd(fd, c"", libc::AT_EMPTY_PATH)
}

/// `statx`.
pub(crate) fn statx(at: c_int, path: &CStr, flags: c_int, mask: u32) -> Answer<Statx> {
    let Some(layer) = changed_layer() else { return sys::statx(at, path, flags, mask) };
    if path.is_empty() {
        let mut found = sys::statx(at, path, flags, mask)?;
        if u32::from(found.stx_mode) & libc::S_IFMT == libc::S_IFDIR
            && let Some((upper, lower)) = sys::fstat(at).ok().and_then(|stat| merged_folder(at, &stat))
        {
            merge_statx(&mut found, &merged_stat(&upper, &lower));
        }
        return Ok(found);
    }
    let place = locate(layer, at, path.to_bytes(), Last::followed_if(flags & libc::AT_SYMLINK_NOFOLLOW == 0))?;
    if !matches!(place.node, Node::Through) {
        place.existing()?;
    }
    let mut found = sys::statx(CWD, place.real(), flags, mask)?;
    if let Node::Merged { upper, lower } = &place.node {
        merge_statx(&mut found, &merged_stat(upper, lower));
    }
    Ok(found)
}

fn merge_statx(found: &mut Statx, merged: &Stat) {
    found.stx_mode = merged.st_mode as u16;
    (found.stx_uid, found.stx_gid) = (merged.st_uid, merged.st_gid);
    (found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec) = (merged.st_mtime, merged.st_mtime_nsec as u32);
    (found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec) = (merged.st_ctime, merged.st_ctime_nsec as u32);
}

/// `faccessat`.
pub(crate) fn access(at: c_int, path: &CStr, mode: c_int, flags: c_int) -> Answer<()> {
    let Some(layer) = changed_layer().filter(|_| !path.is_empty()) else {
        return sys::access_at(at, path, mode, flags);
    };
    let place = locate(layer, at, path.to_bytes(), Last::followed_if(flags & libc::AT_SYMLINK_NOFOLLOW == 0))?;
    if !matches!(place.node, Node::Through) {
        place.existing()?;
    }
    sys::access_at(CWD, permissions_at(&place), mode, flags)
}

/// Where the kernel knows who may do what: the layer's folder only where its mode was changed.
fn permissions_at(place: &Place) -> &CStr {
    match &place.node {
        Node::Merged { upper, lower } if upper.st_mode != lower.st_mode => place.upper(),
        _ => place.real(),
    }
}

/// `readlinkat`: the target as the program may see it.
pub(crate) fn readlink(at: c_int, path: &CStr) -> Answer<Text> {
    let Some(layer) = changed_layer() else { return read_target(at, path) };
    if path.is_empty() {
        return seen(layer, read_target(at, path)?);
    }
    let place = locate(layer, at, path.to_bytes(), Last::Kept)?;
    match place.node {
        Node::Through => {}
        _ if !is_link(&place.existing()?) => return Err(Errno(libc::EINVAL)),
        _ => {}
    }
    seen(layer, read_target(CWD, place.real())?)
}

fn read_target(at: c_int, path: &CStr) -> Answer<Text> {
    let mut target = Text::new();
    target.fill(|into| sys::readlink_at(at, path, into))?;
    Ok(target)
}

fn seen(layer: &Layer, path: Text) -> Answer<Text> {
    let visible = layer.visible(path.bytes());
    if visible.len() == path.len() { Ok(path) } else { Text::from(&[visible]) }
}

/// `getcwd`.
pub(crate) fn getcwd() -> Answer<Text> {
    let mut cwd = Text::new();
    cwd.fill(sys::getcwd)?;
    match layer() {
        Some(layer) => seen(layer, cwd),
        None => Ok(cwd),
    }
}

/// `realpath`.
pub(crate) fn realpath(layer: &Layer, path: &CStr) -> Answer<Text> {
    let place = locate(layer, CWD, path.to_bytes(), Last::Followed)?;
    if let Node::Through = place.node {
        let opened = sys::Fd::open(place.lower(), libc::O_PATH, 0)?;
        return seen(layer, crate::layer::fd_path(opened.0)?);
    }
    place.existing()?;
    Text::from(&[if place.path().is_empty() { b"/" } else { place.path() }])
}

/// `chdir`.
pub(crate) fn chdir(path: &CStr) -> Answer<()> {
    let Some(layer) = changed_layer() else { return sys::chdir(path) };
    let place = locate(layer, CWD, path.to_bytes(), Last::Followed)?;
    if !matches!(place.node, Node::Through) && !is_dir(&place.existing()?) {
        return Err(Errno(libc::ENOTDIR));
    }
    sys::chdir(place.real())
}

/// The path by which the kernel finds what a program names, for functions that only read.
pub(crate) fn real_path(at: c_int, path: &CStr, follow: bool) -> Answer<Text> {
    let found = changed_layer().filter(|_| !path.is_empty());
    let Some(layer) = found else { return Text::from(&[path.to_bytes()]) };
    let place = locate(layer, at, path.to_bytes(), Last::followed_if(follow))?;
    if !matches!(place.node, Node::Through) {
        place.existing()?;
    }
    Text::from(&[place.real().to_bytes()])
}
