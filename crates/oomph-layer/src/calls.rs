//! System calls by number, done in the layer: for code that makes them without libc's functions.

use std::ffi::{CStr, c_int};

use libc::{mode_t, timespec};
use syscalls::Sysno;

use crate::ops::{attributes, make, open, remove, rename};
use crate::sys::{Answer, Errno};
use crate::trap::text;

/// Calls that open, and which of their arguments has the flags.
#[cfg(target_arch = "x86_64")]
pub(crate) const OPENING: &[(Sysno, u32)] = &[(Sysno::openat, 2), (Sysno::open, 1)];
#[cfg(target_arch = "aarch64")]
pub(crate) const OPENING: &[(Sysno, u32)] = &[(Sysno::openat, 2)];

/// Calls that change what stands at a path.
#[cfg(target_arch = "x86_64")]
pub(crate) const CHANGING: &[Sysno] = &[
    Sysno::renameat,
    Sysno::renameat2,
    Sysno::unlinkat,
    Sysno::mkdirat,
    Sysno::linkat,
    Sysno::symlinkat,
    Sysno::mknodat,
    Sysno::fchmodat,
    Sysno::fchownat,
    Sysno::truncate,
    Sysno::rename,
    Sysno::unlink,
    Sysno::mkdir,
    Sysno::rmdir,
    Sysno::link,
    Sysno::symlink,
    Sysno::chmod,
    Sysno::creat,
];
#[cfg(target_arch = "aarch64")]
pub(crate) const CHANGING: &[Sysno] = &[
    Sysno::renameat,
    Sysno::renameat2,
    Sysno::unlinkat,
    Sysno::mkdirat,
    Sysno::linkat,
    Sysno::symlinkat,
    Sysno::mknodat,
    Sysno::fchmodat,
    Sysno::fchownat,
    Sysno::truncate,
];

/// Does a call of [`OPENING`] or [`CHANGING`] in the layer.
pub(crate) fn answer(number: Sysno, args: [usize; 6]) -> Answer<usize> {
    let [first, second, third, fourth, fifth, _] = args;
    let (at, flags) = (first as c_int, fourth as c_int);
    // SAFETY: whoever makes a system call hands over what it asks for.
    let path = |pointer| -> Answer<&CStr> { unsafe { text(pointer) } };
    let done = match number {
        Sysno::openat => return fd(open::open(at, path(second)?, third as c_int, fourth as mode_t)),
        Sysno::renameat => rename::rename(at, path(second)?, third as c_int, path(fourth)?, 0),
        Sysno::renameat2 => rename::rename(at, path(second)?, third as c_int, path(fourth)?, fifth as u32),
        Sysno::unlinkat => remove::unlink(at, path(second)?, third as c_int),
        Sysno::mkdirat => make::mkdir(at, path(second)?, third as mode_t),
        Sysno::linkat => make::link(at, path(second)?, third as c_int, path(fourth)?, fifth as c_int),
        Sysno::symlinkat => make::symlink(path(first)?, second as c_int, path(third)?),
        Sysno::mknodat => make::mknod(at, path(second)?, third as mode_t, fourth as u64),
        Sysno::fchmodat => attributes::chmod(at, path(second)?, third as mode_t, 0),
        Sysno::fchownat => attributes::chown(at, path(second)?, third as u32, fourth as u32, fifth as c_int),
        Sysno::utimensat if second == 0 => attributes::set_fd_times(at, times(third)),
        Sysno::utimensat => attributes::set_times(at, path(second)?, times(third), flags),
        Sysno::truncate => attributes::truncate(path(first)?, second as i64),
        number => return older(number, args),
    };
    done.map(|()| 0)
}

/// The times that a call hands over, none for now.
fn times<'a>(pointer: usize) -> Option<&'a [timespec; 2]> {
    // SAFETY: null or two times, as the call asks for.
    unsafe { (pointer as *const [timespec; 2]).as_ref() }
}

fn fd(answer: Answer<c_int>) -> Answer<usize> {
    answer.map(|fd| fd as usize)
}

/// Calls that only this architecture has kept.
#[cfg(target_arch = "x86_64")]
fn older(number: Sysno, args: [usize; 6]) -> Answer<usize> {
    use crate::sys::CWD;

    let [first, second, third, ..] = args;
    // SAFETY: whoever makes a system call hands over what it asks for.
    let path = |pointer| -> Answer<&CStr> { unsafe { text(pointer) } };
    let done = match number {
        Sysno::open => return fd(open::open(CWD, path(first)?, second as c_int, third as mode_t)),
        Sysno::creat => {
            let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
            return fd(open::open(CWD, path(first)?, flags, second as mode_t));
        }
        Sysno::rename => rename::rename(CWD, path(first)?, CWD, path(second)?, 0),
        Sysno::unlink => remove::unlink(CWD, path(first)?, 0),
        Sysno::rmdir => remove::unlink(CWD, path(first)?, libc::AT_REMOVEDIR),
        Sysno::mkdir => make::mkdir(CWD, path(first)?, second as mode_t),
        Sysno::link => make::link(CWD, path(first)?, CWD, path(second)?, 0),
        Sysno::symlink => make::symlink(path(first)?, CWD, path(second)?),
        Sysno::chmod => attributes::chmod(CWD, path(first)?, second as mode_t, 0),
        _ => return Err(Errno(libc::ENOSYS)),
    };
    done.map(|()| 0)
}

#[cfg(target_arch = "aarch64")]
fn older(_number: Sysno, _args: [usize; 6]) -> Answer<usize> {
    Err(Errno(libc::ENOSYS))
}
