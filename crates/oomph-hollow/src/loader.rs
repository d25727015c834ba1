//! Libraries that are opened by name at run time.
//!
//! `LD_PRELOAD` answers whoever is linked against a CUDA library. Who opens one by name and asks for its functions one
//! by one (Triton and the driver, pynvml and NVML, cuDNN and cuBLASLt) would get the vendor's, which finds no card and
//! fails. So `dlopen` of a name this crate stands in for gives this crate. Anything else goes on to the loader with the
//! caller's return address in place, from which the loader learns whose search path to use.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::installed;

/// Names that mean this crate, before their version.
const STOOD_IN_FOR: &[&str] = &[
    "libcuda.so",
    "libcudart.so",
    "libnvidia-ml.so",
    "libcublas.so",
    "libcublasLt.so",
    "libcudnn.so",
    "libcurand.so",
    "libcusparse.so",
    "libcusparseLt.so",
    "libcusolver.so",
    "libcufft.so",
    "libnccl.so",
];

/// The loader's own `dlopen`.
static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Opens this crate's library for names it stands in for, and asks the loader for any other.
#[cfg(target_arch = "x86_64")]
#[unsafe(export_name = "dlopen")]
#[unsafe(naked)]
unsafe extern "C" fn open_by_name() {
    core::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {stand_in}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "test rax, rax",
        "jnz 2f",
        "mov rax, qword ptr [rip + {next}]",
        "jmp rax",
        "2:",
        "ret",
        stand_in = sym stand_in,
        next = sym NEXT,
    )
}

/// Opens this crate's library for names it stands in for, and asks the loader for any other.
#[cfg(target_arch = "aarch64")]
#[unsafe(export_name = "dlopen")]
#[unsafe(naked)]
unsafe extern "C" fn open_by_name() {
    core::arch::naked_asm!(
        "stp x0, x1, [sp, #-32]!",
        "str x30, [sp, #16]",
        "bl {stand_in}",
        "mov x9, x0",
        "ldr x30, [sp, #16]",
        "ldp x0, x1, [sp], #32",
        "cbz x9, 2f",
        "mov x0, x9",
        "ret",
        "2:",
        "adrp x9, {next}",
        "ldr x9, [x9, :lo12:{next}]",
        "br x9",
        stand_in = sym stand_in,
        next = sym NEXT,
    )
}

/// A handle of this crate's library if the name is one that it stands in for; else null, with [`NEXT`] ready.
///
/// # Safety
///
/// `name` is null or ends with a zero.
unsafe extern "C" fn stand_in(name: *const c_char, flags: i32) -> *mut c_void {
    if NEXT.load(Ordering::Acquire).is_null() {
        // SAFETY: the name ends with a zero.
        NEXT.store(unsafe { libc::dlsym(libc::RTLD_NEXT, c"dlopen".as_ptr()) }, Ordering::Release);
    }
    if name.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: not null, so the caller vouches for it.
    let name = unsafe { CStr::from_ptr(name) };
    if !name.to_str().is_ok_and(is_stood_in_for) {
        return ptr::null_mut();
    }
    let (Some(own), next) = (installed::own_file(), NEXT.load(Ordering::Acquire)) else { return ptr::null_mut() };
    if next.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: the loader's own function, found above.
    let open = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn(*const c_char, i32) -> *mut c_void>(next) };
    open(own.as_ptr(), flags | libc::RTLD_NOW)
}

/// Whether a name is one of a library that this crate stands in for. A path is not: who gives one means that file.
fn is_stood_in_for(name: &str) -> bool {
    STOOD_IN_FOR.iter().any(|known| {
        name.strip_prefix(known)
            .is_some_and(|version| version.is_empty() || (version.starts_with('.') && !version.contains('/')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_paths_and_from_other_libraries() {
        assert!(is_stood_in_for("libcuda.so.1"));
        assert!(is_stood_in_for("libcublasLt.so.13"));
        assert!(is_stood_in_for("libcudart.so"));
        assert!(!is_stood_in_for("/usr/lib/libcuda.so.1"));
        assert!(!is_stood_in_for("libcudnn_graph.so.9"));
        assert!(!is_stood_in_for("libcudadebugger.so.1"));
        assert!(!is_stood_in_for("libnvrtc.so.13"));
    }
}
