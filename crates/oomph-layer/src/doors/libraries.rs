//! `dlopen`: a library that was built into the layer is loaded from there.
//!
//! Where a library is looked for depends on who asks, and libc finds that out from the address that it will return to.
//! So this function leaves everything as the caller made it and jumps.

use std::arch::naked_asm;
use std::ffi::{c_char, c_int, c_void};

use super::{CText, next};
use crate::layer::changed_layer;
use crate::sys::CWD;
use crate::walk::{Last, Node, locate};

type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;

extern "C" fn next_dlopen() -> Dlopen {
    next!("dlopen" as Dlopen).unwrap_or(refuse)
}

/// Where no library has a `dlopen`, none can be loaded.
unsafe extern "C" fn refuse(_path: *const c_char, _flags: c_int) -> *mut c_void {
    std::ptr::null_mut()
}

/// The path to load: the caller's own, unless the layer has the file.
extern "C" fn path_to_load(path: *const c_char) -> *const c_char {
    let in_layer = || {
        let layer = changed_layer()?;
        let given = CText(path).get().ok().filter(|given| given.to_bytes().contains(&b'/'))?;
        let place = locate(layer, CWD, given.to_bytes(), Last::Followed).ok()?;
        // SAFETY: a C string; the copy lives as long as the process, since libc looks at it after this function.
        matches!(place.node, Node::Upper(_)).then(|| unsafe { libc::strdup(place.upper().as_ptr()) })
    };
    in_layer().map_or(path, <*mut c_char>::cast_const)
}

/// Loads a library.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void {
    naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {next}",
        "mov [rsp], rax",
        "mov rdi, [rsp + 16]",
        "sub rsp, 16",
        "call {path}",
        "add rsp, 16",
        "mov rdi, rax",
        "pop rax",
        "pop rsi",
        "add rsp, 8",
        "jmp rax",
        next = sym next_dlopen,
        path = sym path_to_load,
    )
}

/// Loads a library.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void {
    naked_asm!(
        "stp x29, x30, [sp, #-48]!",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "bl {next}",
        "str x0, [sp, #32]",
        "ldr x0, [sp, #16]",
        "bl {path}",
        "ldr x1, [sp, #24]",
        "ldr x16, [sp, #32]",
        "ldp x29, x30, [sp], #48",
        "br x16",
        next = sym next_dlopen,
        path = sym path_to_load,
    )
}
