//! `stat` and `access`, with all their spellings.

use std::ffi::{c_int, c_uint};

use libc::{stat as Stat, statx as Statx};

use super::{CText, Out, door, give_done};
use crate::ops::read;
use crate::sys::{Answer, CWD};

fn stat_into(at: c_int, path: CText, into: Out<Stat>, flags: c_int) -> Answer<()> {
    into.put(read::stat(at, path.get()?, flags)?)
}

// The names with `x` are those of programs that were built before glibc 2.33; their first argument is a version.
door! {
    /// What a path stands for.
    stat, stat64 => (path: CText, into: Out<Stat>) -> c_int {
        give_done(stat_into(CWD, path, into, 0))
    }

    /// What a path stands for, a link being itself.
    lstat, lstat64 => (path: CText, into: Out<Stat>) -> c_int {
        give_done(stat_into(CWD, path, into, libc::AT_SYMLINK_NOFOLLOW))
    }

    /// What an open file is.
    fstat, fstat64 => (fd: c_int, into: Out<Stat>) -> c_int {
        give_done(read::fstat(fd).and_then(|stat| into.put(stat)))
    }

    /// What a path relative to a folder stands for.
    fstatat, fstatat64 => (at: c_int, path: CText, into: Out<Stat>, flags: c_int) -> c_int {
        give_done(stat_into(at, path, into, flags))
    }

    /// `stat` of older programs.
    __xstat, __xstat64 => (_version: c_int, path: CText, into: Out<Stat>) -> c_int {
        give_done(stat_into(CWD, path, into, 0))
    }

    /// `lstat` of older programs.
    __lxstat, __lxstat64 => (_version: c_int, path: CText, into: Out<Stat>) -> c_int {
        give_done(stat_into(CWD, path, into, libc::AT_SYMLINK_NOFOLLOW))
    }

    /// `fstat` of older programs.
    __fxstat, __fxstat64 => (_version: c_int, fd: c_int, into: Out<Stat>) -> c_int {
        give_done(read::fstat(fd).and_then(|stat| into.put(stat)))
    }

    /// `fstatat` of older programs.
    __fxstatat, __fxstatat64 => (_version: c_int, at: c_int, path: CText, into: Out<Stat>, flags: c_int) -> c_int {
        give_done(stat_into(at, path, into, flags))
    }

    /// What a path relative to a folder stands for, in more detail.
    statx => (at: c_int, path: CText, flags: c_int, mask: c_uint, into: Out<Statx>) -> c_int {
        give_done(path.get().and_then(|path| into.put(read::statx(at, path, flags, mask)?)))
    }

    /// May this user do that?
    access => (path: CText, mode: c_int) -> c_int {
        give_done(path.get().and_then(|path| read::access(CWD, path, mode, 0)))
    }

    /// May this user do that, relative to a folder?
    faccessat => (at: c_int, path: CText, mode: c_int, flags: c_int) -> c_int {
        give_done(path.get().and_then(|path| read::access(at, path, mode, flags)))
    }

    /// May this user do that, asked with the effective ids?
    euidaccess, eaccess => (path: CText, mode: c_int) -> c_int {
        give_done(path.get().and_then(|path| read::access(CWD, path, mode, libc::AT_EACCESS)))
    }
}
