//! Blocks of CPU tensors: `libc10.so` takes them with `posix_memalign` and gives them back with `free`. Only the places
//! where that library keeps the addresses of these two functions are changed, so nobody else's allocations are touched.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use oomph_box::{Action, HOST, MemoryEvent};

use crate::recorder;
use oomph_elf as elf;

/// Smaller blocks are not worth a place in the table: numbers and shapes, mostly.
const MIN_BYTES: usize = 1024;

type Take = unsafe extern "C" fn(*mut *mut c_void, usize, usize) -> c_int;
type Give = unsafe extern "C" fn(*mut c_void);

static TAKE: AtomicUsize = AtomicUsize::new(0);
static GIVE: AtomicUsize = AtomicUsize::new(0);
static IS_REDIRECTED: AtomicBool = AtomicBool::new(false);
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Begins or stops to record blocks that are taken for CPU tensors.
pub(crate) fn set(on: bool) -> Result<(), &'static str> {
    if on && !IS_REDIRECTED.load(Ordering::Acquire) {
        redirect()?;
        IS_REDIRECTED.store(true, Ordering::Release);
    }
    IS_ON.store(on, Ordering::Release);
    Ok(())
}

fn redirect() -> Result<(), &'static str> {
    let c10 = elf::loaded("libc10.so").ok_or("PyTorch's library for CPU tensors (libc10.so) is not loaded")?;
    let (takes, gives) = (c10.imports(c"posix_memalign"), c10.imports(c"free"));
    if takes.is_empty() || gives.is_empty() {
        return Err("this build of PyTorch takes the memory of CPU tensors in another way");
    }
    let original = |name| elf::global_symbol(name).ok_or("the C library's functions are not found");
    let (take, give) = (original(c"posix_memalign")?, original(c"free")?);
    GIVE.store(give, Ordering::Release);
    TAKE.store(take, Ordering::Release);
    // Frees first: a block that was seen must not be missed when it goes.
    for (places, function) in [(gives, give_back as *const () as usize), (takes, take_block as *const () as usize)] {
        for place in places {
            // SAFETY: places that the library's own table names, and functions of the same kind as those there.
            if !unsafe { elf::redirect(place, function) } {
                return Err("the addresses that PyTorch's library uses cannot be changed");
            }
        }
    }
    Ok(())
}

unsafe extern "C" fn take_block(block: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int {
    // SAFETY: set before this function could be called, to the C library's own.
    let take: Take = unsafe { std::mem::transmute(TAKE.load(Ordering::Acquire)) };
    // SAFETY: the caller's arguments, passed on.
    let code = unsafe { take(block, alignment, bytes) };
    if code == 0 && bytes >= MIN_BYTES && IS_ON.load(Ordering::Relaxed) {
        // SAFETY: it succeeded, so the address is there.
        record(unsafe { *block } as u64, bytes as u64);
    }
    code
}

fn record(address: u64, bytes: u64) {
    let Some(recorder) = recorder::current() else { return };
    let stack = recorder.current_stack();
    recorder.box_writer().host_alloc(&MemoryEvent {
        action: Action::Alloc,
        device: HOST,
        address,
        bytes,
        stack,
        lane: 0,
    });
}

unsafe extern "C" fn give_back(block: *mut c_void) {
    // Also when nothing new is recorded: what was seen must not stay for ever.
    if !block.is_null() {
        // SAFETY: the caller owns the block, which is still there.
        let bytes = unsafe { libc::malloc_usable_size(block) };
        if let Some(recorder) = recorder::current().filter(|_| bytes >= MIN_BYTES) {
            recorder.box_writer().host_free(block as u64);
        }
    }
    // SAFETY: set before this function could be called, to the C library's own.
    let give: Give = unsafe { std::mem::transmute(GIVE.load(Ordering::Acquire)) };
    // SAFETY: the caller's argument, passed on.
    unsafe { give(block) };
}
