//! `execl` and its kin take their arguments one by one. Stable Rust cannot define such functions, so a few instructions
//! put the arguments into a list and call the functions that take one.

use std::arch::naked_asm;
use std::ffi::c_int;

use super::CText;
use super::processes::{execv, execve, execvp};
use crate::exec::List;
use crate::layer::entries;

extern "C" fn with_environment_last(path: CText, arguments: List) -> c_int {
    let count = entries(arguments).count();
    // SAFETY: after the null pointer that ends the arguments comes the environment, as `execle` demands.
    let environment = unsafe { *arguments.add(count + 1) };
    execve(path, arguments, environment.cast())
}

/// The registers that hold arguments are put before those that the caller left on the stack: together they are a list.
macro_rules! listing_door {
    ($(#[$doc:meta] $name:ident => $target:path;)+) => {$(
        #[$doc]
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(path: CText, first: CText) -> c_int {
            naked_asm!(
                "pop r10",
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "mov rsi, rsp",
                "push r10",
                "call {target}",
                "pop r10",
                "add rsp, 40",
                "jmp r10",
                target = sym $target,
            )
        }

        #[$doc]
        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(path: CText, first: CText) -> c_int {
            naked_asm!(
                "sub sp, sp, #80",
                "stp x29, x30, [sp]",
                "mov x29, sp",
                "stp x1, x2, [sp, #24]",
                "stp x3, x4, [sp, #40]",
                "stp x5, x6, [sp, #56]",
                "str x7, [sp, #72]",
                "add x1, sp, #24",
                "bl {target}",
                "ldp x29, x30, [sp]",
                "add sp, sp, #80",
                "ret",
                target = sym $target,
            )
        }
    )+};
}

listing_door! {
    /// Becomes another program.
    execl => execv;
    /// Becomes the program that a command names.
    execlp => execvp;
    /// Becomes another program, with the environment that follows the arguments.
    execle => with_environment_last;
}
