//! POSIX shared memory.

use std::ffi::c_int;

use libc::mode_t;

use super::{CText, door, give, give_done};
use crate::shared_memory;

door! {
    /// Opens shared memory by its name.
    shm_open => (name: CText, flags: c_int, mode: mode_t) -> c_int {
        give(name.get().and_then(|name| shared_memory::open(name, flags, mode)))
    }

    /// Removes a name of shared memory.
    shm_unlink => (name: CText) -> c_int { give_done(name.get().and_then(shared_memory::unlink)) }
}
