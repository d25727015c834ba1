//! Functions that change mode, owner, times and length.

use std::ffi::c_int;

use libc::{mode_t, off_t, timespec, timeval};

use super::{CText, In, door, give_done};
use crate::ops::attributes;
use crate::sys::{Answer, CWD, Errno};

fn from_timeval(times: In<[timeval; 2]>) -> Answer<Option<[timespec; 2]>> {
    let Some(times) = times.get() else { return Ok(None) };
    if times.iter().any(|time| !(0..1_000_000).contains(&time.tv_usec)) {
        return Err(Errno(libc::EINVAL));
    }
    Ok(Some(times.map(|time| timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_usec * 1000 })))
}

fn set(at: c_int, path: CText, times: In<[timeval; 2]>, flags: c_int) -> c_int {
    give_done(path.get().and_then(|path| {
        let times = from_timeval(times)?;
        attributes::set_times(at, path, times.as_ref(), flags)
    }))
}

fn own(at: c_int, path: CText, uid: u32, gid: u32, flags: c_int) -> c_int {
    give_done(path.get().and_then(|path| attributes::chown(at, path, uid, gid, flags)))
}

door! {
    /// Changes a file's mode.
    chmod => (path: CText, mode: mode_t) -> c_int {
        give_done(path.get().and_then(|path| attributes::chmod(CWD, path, mode, 0)))
    }

    /// Changes a link's mode, which no system here has.
    lchmod => (path: CText, mode: mode_t) -> c_int {
        give_done(path.get().and_then(|path| attributes::chmod(CWD, path, mode, libc::AT_SYMLINK_NOFOLLOW)))
    }

    /// Changes a file's mode relative to a folder.
    fchmodat => (at: c_int, path: CText, mode: mode_t, flags: c_int) -> c_int {
        give_done(path.get().and_then(|path| attributes::chmod(at, path, mode, flags)))
    }

    /// Changes an open file's mode.
    fchmod => (fd: c_int, mode: mode_t) -> c_int { give_done(attributes::fchmod(fd, mode)) }

    /// Changes a file's owner.
    chown => (path: CText, uid: u32, gid: u32) -> c_int { own(CWD, path, uid, gid, 0) }

    /// Changes a link's owner.
    lchown => (path: CText, uid: u32, gid: u32) -> c_int { own(CWD, path, uid, gid, libc::AT_SYMLINK_NOFOLLOW) }

    /// Changes a file's owner relative to a folder.
    fchownat => (at: c_int, path: CText, uid: u32, gid: u32, flags: c_int) -> c_int { own(at, path, uid, gid, flags) }

    /// Changes an open file's owner.
    fchown => (fd: c_int, uid: u32, gid: u32) -> c_int { give_done(attributes::fchown(fd, uid, gid)) }

    /// Sets a file's times, in seconds.
    utime => (path: CText, times: In<libc::utimbuf>) -> c_int {
        let seconds = |seconds| timespec { tv_sec: seconds, tv_nsec: 0 };
        let times = times.get().map(|times| [seconds(times.actime), seconds(times.modtime)]);
        give_done(path.get().and_then(|path| attributes::set_times(CWD, path, times.as_ref(), 0)))
    }

    /// Sets a file's times, in microseconds.
    utimes => (path: CText, times: In<[timeval; 2]>) -> c_int { set(CWD, path, times, 0) }

    /// Sets a link's times, in microseconds.
    lutimes => (path: CText, times: In<[timeval; 2]>) -> c_int { set(CWD, path, times, libc::AT_SYMLINK_NOFOLLOW) }

    /// Sets a file's times relative to a folder, in microseconds.
    futimesat => (at: c_int, path: CText, times: In<[timeval; 2]>) -> c_int { set(at, path, times, 0) }

    /// Sets an open file's times, in microseconds.
    futimes => (fd: c_int, times: In<[timeval; 2]>) -> c_int {
        give_done(from_timeval(times).and_then(|times| attributes::set_fd_times(fd, times.as_ref())))
    }

    /// Sets a file's times relative to a folder, in nanoseconds.
    utimensat => (at: c_int, path: CText, times: In<[timespec; 2]>, flags: c_int) -> c_int {
        if path.0.is_null() {
            return give_done(attributes::set_fd_times(at, times.get()));
        }
        give_done(path.get().and_then(|path| attributes::set_times(at, path, times.get(), flags)))
    }

    /// Sets an open file's times, in nanoseconds.
    futimens => (fd: c_int, times: In<[timespec; 2]>) -> c_int {
        give_done(attributes::set_fd_times(fd, times.get()))
    }

    /// Changes a file's length.
    truncate, truncate64 => (path: CText, bytes: off_t) -> c_int {
        give_done(path.get().and_then(|path| attributes::truncate(path, bytes)))
    }
}
