//! The door behind the doors: code that changes files without asking libc.
//!
//! Some libraries make system calls themselves (Rust's `rustix`, and so safetensors), and so does libc inside its own
//! functions. A filter in the kernel stops those calls that would make, remove or rename, and the signal that it sends
//! is answered by doing the same in the layer. Our own calls pass: they carry [`PASS`] in an argument that no such call
//! has. The filter says nothing of addresses, so children that inherit it need none of their own; a program's loader,
//! which runs before this library is there, makes no such calls. Programs that are linked statically never load this
//! library and could not answer the signal: the usual kind is known by its low addresses and let through.
//!
//! Where the kernel grants no filter everything else works as before.

use std::ffi::{CStr, c_int, c_void};

use libc::{sock_filter, ucontext_t};
use syscalls::Sysno;

use crate::calls;
use crate::sys::{self, Answer, Errno};

/// What our own calls carry as their sixth argument.
pub(crate) const PASS: usize = 0x6f6f_6d70;
/// Asks the handler whether there is a filter already.
const PROBE: usize = 0x7072_6f62;
const PROBED: usize = 0x5eed;

/// Opens that make or empty a file.
const MAKING: u32 = (libc::O_CREAT | libc::O_TRUNC | (libc::O_TMPFILE & !libc::O_DIRECTORY)) as u32;

/// Catches calls from here on, in this process and its children.
pub(crate) fn install() {
    if catch_signal().is_err() || probe() {
        return;
    }
    let program = program();
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // Without the flag kernels before 5.16 slow the whole process down.
    let flags = libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW | libc::SECCOMP_FILTER_FLAG_TSYNC;
    // Without both the program runs as it would, with libc's functions replaced.
    let _ = sys::forbid_new_privileges().and_then(|()| sys::set_filter(flags as usize, &filter));
}

/// Is a filter in place, inherited from the program that started this one?
fn probe() -> bool {
    // SAFETY: without a filter the kernel refuses these flags before it looks at anything else.
    let answer = unsafe { sys::raw(Sysno::renameat2, [PROBE, 0, 0, 0, usize::MAX, 0]) };
    answer == Ok(PROBED)
}

fn catch_signal() -> Answer<()> {
    // SAFETY: all zeros is a valid `sigaction`, the handler has the signature that the flag asks for, and the mask is
    // our own.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_call as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_RESTART;
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&raw mut signals, libc::SIGSYS);
        let refused = next_sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()) != 0
            || libc::sigprocmask(libc::SIG_UNBLOCK, &raw const signals, std::ptr::null_mut()) != 0;
        if refused { Err(Errno(libc::ENOSYS)) } else { Ok(()) }
    }
}

/// libc's `sigaction`, past our own.
fn next_sigaction(signal: c_int, action: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    type Sigaction = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
    match crate::doors::next!("sigaction" as Sigaction) {
        // SAFETY: valid for the call, as the caller says.
        Some(real) => unsafe { real(signal, action, old) },
        None => -1,
    }
}

/// Answers a call that the filter stopped.
extern "C" fn on_call(_signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel hands over both.
    let (info, context) = unsafe { (&*info.cast::<CallInfo>(), &mut *context.cast::<ucontext_t>()) };
    let args = registers::arguments(context);
    let number = Sysno::new(info.number as usize);
    let [first, ..] = args;
    let answer = match number {
        Some(Sysno::renameat2) if first == PROBE => Ok(PROBED),
        Some(number) => calls::answer(number, args),
        None => Err(Errno(libc::ENOSYS)),
    };
    registers::set_result(context, answer.map_or_else(|errno| -(errno.0 as isize), |value| value as isize));
}

/// `siginfo_t` of this signal.
#[repr(C)]
struct CallInfo {
    head: [c_int; 4],
    address: *const c_void,
    number: c_int,
    architecture: u32,
}

/// Where the kernel keeps a call's arguments.
#[cfg(target_arch = "x86_64")]
mod registers {
    use libc::{REG_R8, REG_R9, REG_R10, REG_RAX, REG_RDI, REG_RDX, REG_RSI, ucontext_t};

    pub(super) fn arguments(context: &ucontext_t) -> [usize; 6] {
        [REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9]
            .map(|register| context.uc_mcontext.gregs.get(register as usize).map_or(0, |value| *value as usize))
    }

    pub(super) fn set_result(context: &mut ucontext_t, result: isize) {
        if let Some(register) = context.uc_mcontext.gregs.get_mut(REG_RAX as usize) {
            *register = result as i64;
        }
    }
}

/// Where the kernel keeps a call's arguments.
#[cfg(target_arch = "aarch64")]
mod registers {
    use libc::ucontext_t;

    pub(super) fn arguments(context: &ucontext_t) -> [usize; 6] {
        let mut arguments = [0; 6];
        for (argument, register) in arguments.iter_mut().zip(context.uc_mcontext.regs) {
            *argument = register as usize;
        }
        arguments
    }

    pub(super) fn set_result(context: &mut ucontext_t, result: isize) {
        if let Some(register) = context.uc_mcontext.regs.first_mut() {
            *register = result as u64;
        }
    }
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Offsets in the record that the filter looks at.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
/// The upper half of the address that the call is made from.
const CALLER_AT: u32 = 12;
/// The lower half of an argument.
const fn argument_at(index: u32) -> u32 {
    16 + 8 * index
}

fn load(offset: u32) -> sock_filter {
    sock_filter { code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, jt: 0, jf: 0, k: offset }
}

fn jump(kind: u32, value: u32, if_true: u8, if_false: u8) -> sock_filter {
    sock_filter { code: (libc::BPF_JMP | kind | libc::BPF_K) as u16, jt: if_true, jf: if_false, k: value }
}

fn answer(action: u32) -> sock_filter {
    sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: action }
}

/// The filter: calls of the list without [`PASS`] are trapped, opens only where they make or empty a file.
fn program() -> Vec<sock_filter> {
    let trap = answer(libc::SECCOMP_RET_TRAP);
    let allow = answer(libc::SECCOMP_RET_ALLOW);
    let mut program = vec![
        load(ARCHITECTURE_AT),
        jump(libc::BPF_JEQ, ARCHITECTURE, 1, 0),
        allow,
        load(CALLER_AT),
        jump(libc::BPF_JEQ, 0, 0, 1),
        allow,
        load(argument_at(5)),
        jump(libc::BPF_JEQ, PASS as u32, 0, 1),
        allow,
        load(NUMBER_AT),
    ];
    for (number, flags_index) in calls::OPENING {
        // Another call: past these four.
        program.push(jump(libc::BPF_JEQ, *number as u32, 0, 4));
        program.push(load(argument_at(*flags_index)));
        program.push(jump(libc::BPF_JSET, MAKING, 0, 1));
        program.extend([trap, allow]);
    }
    for number in calls::CHANGING {
        program.push(jump(libc::BPF_JEQ, *number as u32, 0, 1));
        program.push(trap);
    }
    program.push(allow);
    program
}

/// A pointer of a trapped call as text.
///
/// # Safety
/// As for [`sys::c_str`].
pub(crate) unsafe fn text<'a>(pointer: usize) -> Answer<&'a CStr> {
    // SAFETY: the caller vouches for it.
    unsafe { sys::c_str(pointer as *const libc::c_char) }
}
