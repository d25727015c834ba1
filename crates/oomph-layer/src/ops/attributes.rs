//! Mode, owner, times, length and extended attributes: the file comes into the layer and is changed there.

use std::ffi::{CStr, c_int};

use libc::{mode_t, stat as Stat, timespec};

use crate::layer::{Layer, fd_path, layer};
use crate::sys::{self, Answer, CWD, Errno};
use crate::text::below;
use crate::upper::{Content, copy_up};
use crate::walk::{Last, Node, Place, is_dir, is_link, locate, locate_absolute};

/// `fchmodat`.
pub(crate) fn chmod(at: c_int, path: &CStr, mode: mode_t, flags: c_int) -> Answer<()> {
    let Some(layer) = layer() else { return sys::chmod_at(at, path, mode) };
    let follow = flags & libc::AT_SYMLINK_NOFOLLOW == 0;
    let place = locate(layer, at, path.to_bytes(), Last::followed_if(follow))?;
    if let Node::Through = place.node {
        return sys::chmod(place.lower(), mode);
    }
    if is_link(&place.existing()?) {
        return Err(Errno(libc::EOPNOTSUPP));
    }
    must_own(&place)?;
    copy_up(layer, &place, Content::Copied)?;
    sys::chmod(place.upper(), mode)
}

/// `fchownat`.
pub(crate) fn chown(at: c_int, path: &CStr, uid: u32, gid: u32, flags: c_int) -> Answer<()> {
    let Some(layer) = layer() else { return sys::chown_at(at, path, uid, gid, flags) };
    if path.is_empty() {
        return fchown(at, uid, gid);
    }
    let place = locate(layer, at, path.to_bytes(), Last::followed_if(flags & libc::AT_SYMLINK_NOFOLLOW == 0))?;
    if let Node::Through = place.node {
        return sys::chown_at(CWD, place.lower(), uid, gid, flags);
    }
    place.existing()?;
    must_own(&place)?;
    copy_up(layer, &place, Content::Copied)?;
    sys::lchown(place.upper(), uid, gid)
}

/// `utimensat`.
pub(crate) fn set_times(at: c_int, path: &CStr, times: Option<&[timespec; 2]>, flags: c_int) -> Answer<()> {
    let raw = times.map_or(std::ptr::null(), |times| times.as_ptr());
    let Some(layer) = layer() else { return sys::set_times_at(at, path, raw, flags) };
    if path.is_empty() {
        return set_fd_times(at, times);
    }
    let place = locate(layer, at, path.to_bytes(), Last::followed_if(flags & libc::AT_SYMLINK_NOFOLLOW == 0))?;
    if let Node::Through = place.node {
        return sys::set_times_at(CWD, place.lower(), raw, flags);
    }
    place.existing()?;
    may_set_times(&place, times)?;
    copy_up(layer, &place, Content::Copied)?;
    sys::set_times(place.upper(), times)
}

/// `truncate`.
pub(crate) fn truncate(path: &CStr, bytes: i64) -> Answer<()> {
    let Some(layer) = layer() else { return sys::truncate(path, bytes) };
    let place = locate(layer, CWD, path.to_bytes(), Last::Followed)?;
    if let Node::Through = place.node {
        return sys::truncate(place.lower(), bytes);
    }
    if is_dir(&place.existing()?) {
        return Err(Errno(libc::EISDIR));
    }
    if let Node::Lower(_) = place.node {
        sys::access(place.lower(), libc::W_OK)?;
    }
    copy_up(layer, &place, if bytes == 0 { Content::Dropped } else { Content::Copied })?;
    sys::truncate(place.upper(), bytes)
}

/// `fchmod`.
pub(crate) fn fchmod(fd: c_int, mode: mode_t) -> Answer<()> {
    match changed_copy(fd, must_own)? {
        Some(place) => sys::chmod(place.upper(), mode),
        None => sys::fchmod(fd, mode),
    }
}

/// `fchown`.
pub(crate) fn fchown(fd: c_int, uid: u32, gid: u32) -> Answer<()> {
    match changed_copy(fd, must_own)? {
        Some(place) => sys::lchown(place.upper(), uid, gid),
        None => sys::fchown(fd, uid, gid),
    }
}

/// `futimens`.
pub(crate) fn set_fd_times(fd: c_int, times: Option<&[timespec; 2]>) -> Answer<()> {
    match changed_copy(fd, |place| may_set_times(place, times))? {
        Some(place) => sys::set_times(place.upper(), times),
        None => sys::set_fd_times(fd, times.map_or(std::ptr::null(), |times| times.as_ptr())),
    }
}

/// The copy to change in place of an open file of the real tree; none where the file itself may be changed.
pub(crate) fn changed_copy(fd: c_int, may: impl FnOnce(&Place) -> Answer<()>) -> Answer<Option<Place>> {
    let Some(layer) = layer() else { return Ok(None) };
    let open = sys::fstat(fd)?;
    let Some(place) = real_place(layer, fd, &open) else { return Ok(None) };
    may(&place)?;
    copy_up(layer, &place, Content::Copied)?;
    Ok(Some(place))
}

/// The place of an open file or folder of the real tree that the layer covers.
fn real_place(layer: &Layer, fd: c_int, open: &Stat) -> Option<Place> {
    let path = fd_path(fd).ok()?;
    if below(path.bytes(), &layer.folder).is_some() {
        return None;
    }
    let place = locate_absolute(layer, path, Last::Kept).ok()?;
    let known = place.stat()?;
    let same = (known.st_dev, known.st_ino) == (open.st_dev, open.st_ino);
    // A file that was copied since it was opened has another identity, and its copy is what others see.
    let copied = matches!(place.node, Node::Upper(_)) && place.covers(layer);
    (same || copied).then_some(place)
}

/// Only its owner and root change a file's mode or owner.
pub(crate) fn must_own(place: &Place) -> Answer<()> {
    let user = sys::euid();
    match &place.node {
        Node::Lower(stat) | Node::Merged { lower: stat, .. } if user != 0 && stat.st_uid != user => {
            Err(Errno(libc::EPERM))
        }
        _ => Ok(()),
    }
}

/// Who may write a file may set its times to now; all else is for its owner.
fn may_set_times(place: &Place, times: Option<&[timespec; 2]>) -> Answer<()> {
    let now = times.is_none_or(|times| times.iter().all(|time| time.tv_nsec == libc::UTIME_NOW));
    match (&place.node, must_own(place)) {
        (Node::Lower(_) | Node::Merged { .. }, Err(_)) if now => sys::access(place.lower(), libc::W_OK),
        (_, owned) => owned,
    }
}
