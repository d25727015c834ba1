//! Attaches to PyTorch's allocator, if it is the one that is expected.
//!
//! PyTorch has a C++ interface for this and no other. The number of the virtual function differs from version to
//! version, but `libtorch_cuda.so` exports a class with the same interface, `CUDAPluggableAllocator`, with its table of
//! virtual functions and every function by name. So the number is read there, and used with the table of the allocator
//! in use, which is told from others by the name of its type.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{ahead, tracker};
use oomph_elf::{self as elf, Library};

const ALLOCATOR: &CStr = c"_ZN3c104cuda20CUDACachingAllocator9allocatorE";
const EXAMPLE_TABLE: &CStr = c"_ZTVN5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocatorE";
const ATTACH_METHOD: &[u8] =
    b"_ZN5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocator27attachAllocatorTraceTrackerE";
const INITIALIZED_METHOD: &[u8] = b"_ZN5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocator11initializedEv";
const NATIVE_TYPE: &[u8] = b"N3c104cuda20CUDACachingAllocator6Native22NativeCachingAllocatorE";

/// Offset to top and type stand before a table's functions.
const WORDS_BEFORE_FUNCTIONS: usize = 2;
const MAX_FUNCTIONS: usize = 256;

static ATTACHED: AtomicBool = AtomicBool::new(false);

/// Where the calls go.
struct Target {
    object: usize,
    attach: usize,
    initialized: usize,
}

impl Target {
    /// Whether `torch.cuda.init()` has been there: before, there are no devices to listen to.
    fn is_initialized(&self) -> bool {
        type Initialized = unsafe extern "C-unwind" fn(usize) -> bool;
        // SAFETY: `find_target` proved that this is the allocator's function of that name, which has no argument.
        unsafe { std::mem::transmute::<usize, Initialized>(self.initialized)(self.object) }
    }
}

/// Attaches the tracker, once.
pub(crate) fn attach() -> Result<(), &'static str> {
    if ATTACHED.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    let attached = find_target().and_then(|target| {
        if !target.is_initialized() {
            return Err("PyTorch's CUDA allocator is not set up yet");
        }
        // SAFETY: `find_target` proved that this is the native allocator's function for a tracker.
        unsafe { tracker::hand_over(target.object, target.attach) };
        ahead::start();
        Ok(())
    });
    if attached.is_err() {
        ATTACHED.store(false, Ordering::Release);
    }
    attached
}

fn find_target() -> Result<Target, &'static str> {
    let c10 = elf::loaded("libc10_cuda.so").ok_or("PyTorch's CUDA allocator (libc10_cuda.so) is not loaded")?;
    let torch = elf::loaded("libtorch_cuda.so").ok_or("PyTorch's CUDA library (libtorch_cuda.so) is not loaded")?;
    let (attach, initialized) = slots(&torch)?;
    let variable = c10.symbol(ALLOCATOR).ok_or("this build of PyTorch does not export its CUDA allocator")?;
    let object = c10.word(variable).filter(|&object| object != 0).ok_or("PyTorch's CUDA allocator is not set up")?;
    // SAFETY: the variable holds a pointer to an object with virtual functions: its first word is their table.
    let table = unsafe { (object as *const usize).read() };
    if native_type(&c10, table) != Some(NATIVE_TYPE.to_vec()) {
        return Err("another allocator than PyTorch's own caching one is in use");
    }
    let function = |slot: usize| {
        let function = c10.word(table + slot * 8).filter(|&function| c10.executes(function));
        function.ok_or("the functions of PyTorch's CUDA allocator are not where they are expected")
    };
    Ok(Target { object, attach: function(attach)?, initialized: function(initialized)? })
}

/// The name of the type whose table of virtual functions this is.
fn native_type(c10: &Library, table: usize) -> Option<Vec<u8>> {
    let type_info = c10.word(table.checked_sub(8)?)?;
    // The name is the second word of a type's description; a `*` before it says that it is unique.
    let name = c10.text(c10.word(type_info + 8)?, 200)?;
    Some(name.strip_prefix(b"*").unwrap_or(&name).to_vec())
}

/// Which virtual functions take a tracker and say whether devices are there.
fn slots(torch: &Library) -> Result<(usize, usize), &'static str> {
    const UNKNOWN: &str = "this version of PyTorch has no trace tracker that is known";
    let table = torch.symbol(EXAMPLE_TABLE).ok_or("this build of PyTorch does not export CUDAPluggableAllocator")?;
    let (_, bytes) = elf::symbol_at(table).ok_or("the functions of CUDAPluggableAllocator have no size")?;
    let count = (bytes / 8).saturating_sub(WORDS_BEFORE_FUNCTIONS).min(MAX_FUNCTIONS);
    let name = |slot| torch.word(table + (WORDS_BEFORE_FUNCTIONS + slot) * 8).and_then(elf::symbol_at);
    let names: Vec<Vec<u8>> = (0..count).map(|slot| name(slot).unwrap_or_default().0).collect();
    let slot_of = |method: &[u8]| {
        let mut slots = names.iter().enumerate().filter(|(_, name)| name.starts_with(method));
        slots.next().filter(|_| slots.next().is_none()).map(|(slot, _)| slot).ok_or(UNKNOWN)
    };
    Ok((slot_of(ATTACH_METHOD)?, slot_of(INITIALIZED_METHOD)?))
}
