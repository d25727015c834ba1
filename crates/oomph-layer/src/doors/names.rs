//! Functions that make, remove and rename.

use std::ffi::{c_int, c_uint};

use libc::{dev_t, mode_t};

use super::{CText, In, door, give_done};
use crate::ops::{make, remove, rename as renaming};
use crate::sys::{Answer, CWD, Errno};

fn remove_any(path: CText) -> Answer<()> {
    let path = path.get()?;
    match remove::unlink(CWD, path, 0) {
        Err(Errno(libc::EISDIR)) => remove::unlink(CWD, path, libc::AT_REMOVEDIR),
        answer => answer,
    }
}

fn rename_any(from_at: c_int, from: CText, to_at: c_int, to: CText, flags: c_uint) -> c_int {
    give_done(from.get().and_then(|from| renaming::rename(from_at, from, to_at, to.get()?, flags)))
}

fn link_any(from_at: c_int, from: CText, at: c_int, path: CText, flags: c_int) -> c_int {
    give_done(from.get().and_then(|from| make::link(from_at, from, at, path.get()?, flags)))
}

fn make_node(at: c_int, path: CText, mode: mode_t, device: dev_t) -> c_int {
    give_done(path.get().and_then(|path| make::mknod(at, path, mode, device)))
}

door! {
    /// Removes a name.
    unlink => (path: CText) -> c_int { give_done(path.get().and_then(|path| remove::unlink(CWD, path, 0))) }

    /// Removes a name relative to a folder.
    unlinkat => (at: c_int, path: CText, flags: c_int) -> c_int {
        give_done(path.get().and_then(|path| remove::unlink(at, path, flags)))
    }

    /// Removes an empty folder.
    rmdir => (path: CText) -> c_int {
        give_done(path.get().and_then(|path| remove::unlink(CWD, path, libc::AT_REMOVEDIR)))
    }

    /// Removes a file or an empty folder.
    remove => (path: CText) -> c_int { give_done(remove_any(path)) }

    /// Renames.
    rename => (from: CText, to: CText) -> c_int { rename_any(CWD, from, CWD, to, 0) }

    /// Renames relative to folders.
    renameat => (from_at: c_int, from: CText, to_at: c_int, to: CText) -> c_int {
        rename_any(from_at, from, to_at, to, 0)
    }

    /// Renames relative to folders, as the flags say.
    renameat2 => (from_at: c_int, from: CText, to_at: c_int, to: CText, flags: c_uint) -> c_int {
        rename_any(from_at, from, to_at, to, flags)
    }

    /// Makes a folder.
    mkdir => (path: CText, mode: mode_t) -> c_int {
        give_done(path.get().and_then(|path| make::mkdir(CWD, path, mode)))
    }

    /// Makes a folder relative to a folder.
    mkdirat => (at: c_int, path: CText, mode: mode_t) -> c_int {
        give_done(path.get().and_then(|path| make::mkdir(at, path, mode)))
    }

    /// Gives a file another name.
    link => (from: CText, path: CText) -> c_int { link_any(CWD, from, CWD, path, 0) }

    /// Gives a file another name relative to folders.
    linkat => (from_at: c_int, from: CText, at: c_int, path: CText, flags: c_int) -> c_int {
        link_any(from_at, from, at, path, flags)
    }

    /// Makes a symbolic link.
    symlink => (target: CText, path: CText) -> c_int {
        give_done(target.get().and_then(|target| make::symlink(target, CWD, path.get()?)))
    }

    /// Makes a symbolic link relative to a folder.
    symlinkat => (target: CText, at: c_int, path: CText) -> c_int {
        give_done(target.get().and_then(|target| make::symlink(target, at, path.get()?)))
    }

    /// Makes a special file.
    mknod => (path: CText, mode: mode_t, device: dev_t) -> c_int { make_node(CWD, path, mode, device) }

    /// Makes a special file relative to a folder.
    mknodat => (at: c_int, path: CText, mode: mode_t, device: dev_t) -> c_int { make_node(at, path, mode, device) }

    /// `mknod` of older programs.
    __xmknod => (_version: c_int, path: CText, mode: mode_t, device: In<dev_t>) -> c_int {
        make_node(CWD, path, mode, device.get().copied().unwrap_or_default())
    }

    /// `mknodat` of older programs.
    __xmknodat => (_version: c_int, at: c_int, path: CText, mode: mode_t, device: In<dev_t>) -> c_int {
        make_node(at, path, mode, device.get().copied().unwrap_or_default())
    }

    /// Makes a named pipe.
    mkfifo => (path: CText, mode: mode_t) -> c_int { make_node(CWD, path, mode | libc::S_IFIFO, 0) }

    /// Makes a named pipe relative to a folder.
    mkfifoat => (at: c_int, path: CText, mode: mode_t) -> c_int { make_node(at, path, mode | libc::S_IFIFO, 0) }
}
