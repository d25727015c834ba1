//! Extended attributes.

use std::ffi::{c_int, c_void};

use super::{CText, door, give, give_done};
use crate::ops::extended::{self, Value};

fn get(path: CText, name: CText, value: *mut c_void, bytes: usize, follow: bool) -> isize {
    let found = path.get().and_then(|path| extended::get(path, name.get()?, Value(value, bytes), follow));
    give(found.map(|bytes| bytes as isize))
}

fn list(path: CText, value: *mut c_void, bytes: usize, follow: bool) -> isize {
    let found = path.get().and_then(|path| extended::list(path, Value(value, bytes), follow));
    give(found.map(|bytes| bytes as isize))
}

fn set(path: CText, name: CText, value: Value, flags: c_int, follow: bool) -> c_int {
    give_done(path.get().and_then(|path| extended::set(path, name.get()?, value, flags, follow)))
}

fn remove(path: CText, name: CText, follow: bool) -> c_int {
    give_done(path.get().and_then(|path| extended::remove(path, name.get()?, follow)))
}

door! {
    /// An attribute of a file.
    getxattr => (path: CText, name: CText, value: *mut c_void, bytes: usize) -> isize {
        get(path, name, value, bytes, true)
    }

    /// An attribute of a link.
    lgetxattr => (path: CText, name: CText, value: *mut c_void, bytes: usize) -> isize {
        get(path, name, value, bytes, false)
    }

    /// The names of a file's attributes.
    listxattr => (path: CText, value: *mut c_void, bytes: usize) -> isize { list(path, value, bytes, true) }

    /// The names of a link's attributes.
    llistxattr => (path: CText, value: *mut c_void, bytes: usize) -> isize { list(path, value, bytes, false) }

    /// Sets an attribute of a file.
    setxattr => (path: CText, name: CText, value: *mut c_void, bytes: usize, flags: c_int) -> c_int {
        set(path, name, Value(value, bytes), flags, true)
    }

    /// Sets an attribute of a link.
    lsetxattr => (path: CText, name: CText, value: *mut c_void, bytes: usize, flags: c_int) -> c_int {
        set(path, name, Value(value, bytes), flags, false)
    }

    /// Sets an attribute of an open file.
    fsetxattr => (fd: c_int, name: CText, value: *mut c_void, bytes: usize, flags: c_int) -> c_int {
        give_done(name.get().and_then(|name| extended::set_open(fd, name, Value(value, bytes), flags)))
    }

    /// Removes an attribute of a file.
    removexattr => (path: CText, name: CText) -> c_int { remove(path, name, true) }

    /// Removes an attribute of a link.
    lremovexattr => (path: CText, name: CText) -> c_int { remove(path, name, false) }

    /// Removes an attribute of an open file.
    fremovexattr => (fd: c_int, name: CText) -> c_int {
        give_done(name.get().and_then(|name| extended::remove_open(fd, name)))
    }
}
