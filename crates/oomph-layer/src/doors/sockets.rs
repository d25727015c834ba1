//! `bind`, `connect` and what tells a socket's address.

use std::ffi::c_int;

use libc::{sockaddr, socklen_t};

use super::{door, give_done};
use crate::sockets::{self, Address};
use crate::sys::{self, Answer};

/// Puts the path that a program knows in place of the layer's, in an address that the kernel has filled in.
fn show(answer: Answer<()>, address: *mut sockaddr, length: *mut socklen_t, room: Option<socklen_t>) -> c_int {
    if let (Ok(()), Some(room), false) = (answer, room, address.is_null()) {
        // SAFETY: the kernel has written the length there; what it wrote of the address is at most `room`.
        let bytes = unsafe { *length }.min(room) as usize;
        if let Some(seen) = sockets::seen(Address { start: address, bytes }) {
            let bytes = sockets::length_of(&seen);
            // SAFETY: no more than the caller has room for.
            unsafe {
                std::ptr::copy_nonoverlapping((&raw const seen).cast::<u8>(), address.cast(), bytes.min(room as usize));
                *length = bytes as socklen_t;
            }
        }
    }
    give_done(answer)
}

/// How long the caller's address may be.
fn room(length: *const socklen_t) -> Option<socklen_t> {
    // SAFETY: null, or the caller's own number.
    unsafe { length.as_ref() }.copied()
}

door! {
    /// Gives a socket an address.
    bind => (fd: c_int, address: *const sockaddr, bytes: socklen_t) -> c_int {
        give_done(sockets::bind(fd, Address { start: address, bytes: bytes as usize }))
    }

    /// Connects a socket to an address.
    connect => (fd: c_int, address: *const sockaddr, bytes: socklen_t) -> c_int {
        give_done(sockets::connect(fd, Address { start: address, bytes: bytes as usize }))
    }

    /// The address of a socket.
    getsockname => (fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
        let room = room(length);
        show(sys::own_address(fd, address, length), address, length, room)
    }

    /// The address at a socket's other end.
    getpeername => (fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
        let room = room(length);
        show(sys::peer_address(fd, address, length), address, length, room)
    }
}
