//! Attaches to PyTorch's allocator, if it is the one that is expected.
//!
//! PyTorch has a C++ interface for this and no other. The number of the virtual function differs from version to
//! version, but `libtorch_cuda.so` exports a class with the same interface, `CUDAPluggableAllocator`, with its table of
//! virtual functions and every function by name. So the number is read there, and used with the table of the allocator
//! in use, which is told from others by the name of its type.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::elf::{self, Library};
use crate::tracker;

const ALLOCATOR: &CStr = c"_ZN3c104cuda20CUDACachingAllocator9allocatorE";
const EXAMPLE_TABLE: &CStr = c"_ZTVN5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocatorE";
const EXAMPLE_METHOD: &[u8] =
    b"_ZN5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocator27attachAllocatorTraceTrackerE";
const NATIVE_TYPE: &[u8] = b"N3c104cuda20CUDACachingAllocator6Native22NativeCachingAllocatorE";

/// Offset to top and type stand before a table's functions.
const WORDS_BEFORE_FUNCTIONS: usize = 2;
const MAX_FUNCTIONS: usize = 256;

static ATTACHED: AtomicBool = AtomicBool::new(false);

/// Where the call goes.
struct Target {
    object: usize,
    function: usize,
}

/// Attaches the tracker, once.
pub(crate) fn attach() -> Result<(), &'static str> {
    if ATTACHED.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    let attached = find_target().map(|target| {
        // SAFETY: `find_target` proved that this is the native allocator's function for a tracker.
        unsafe { tracker::hand_over(target.object, target.function) };
    });
    if attached.is_err() {
        ATTACHED.store(false, Ordering::Release);
    }
    attached
}

fn find_target() -> Result<Target, &'static str> {
    let c10 = elf::loaded("libc10_cuda.so").ok_or("PyTorch's CUDA allocator (libc10_cuda.so) is not loaded")?;
    let torch = elf::loaded("libtorch_cuda.so").ok_or("PyTorch's CUDA library (libtorch_cuda.so) is not loaded")?;
    let slot = tracker_slot(&torch)?;
    let variable = c10.symbol(ALLOCATOR).ok_or("this build of PyTorch does not export its CUDA allocator")?;
    let object = c10.word(variable).filter(|&object| object != 0).ok_or("PyTorch's CUDA allocator is not set up")?;
    // SAFETY: the variable holds a pointer to an object with virtual functions: its first word is their table.
    let table = unsafe { (object as *const usize).read() };
    if native_type(&c10, table) != Some(NATIVE_TYPE.to_vec()) {
        return Err("another allocator than PyTorch's own caching one is in use");
    }
    let function = c10
        .word(table + slot * 8)
        .filter(|&function| c10.executes(function))
        .ok_or("the functions of PyTorch's CUDA allocator are not where they are expected")?;
    Ok(Target { object, function })
}

/// The name of the type whose table of virtual functions this is.
fn native_type(c10: &Library, table: usize) -> Option<Vec<u8>> {
    let type_info = c10.word(table.checked_sub(8)?)?;
    // The name is the second word of a type's description; a `*` before it says that it is unique.
    let name = c10.text(c10.word(type_info + 8)?, 200)?;
    Some(name.strip_prefix(b"*").unwrap_or(&name).to_vec())
}

/// Which virtual function takes a tracker.
fn tracker_slot(torch: &Library) -> Result<usize, &'static str> {
    let table = torch.symbol(EXAMPLE_TABLE).ok_or("this build of PyTorch does not export CUDAPluggableAllocator")?;
    let (_, bytes) = elf::symbol_at(table).ok_or("the functions of CUDAPluggableAllocator have no size")?;
    let count = (bytes / 8).saturating_sub(WORDS_BEFORE_FUNCTIONS).min(MAX_FUNCTIONS);
    let is_tracker = |slot: &usize| {
        let function = torch.word(table + (WORDS_BEFORE_FUNCTIONS + slot) * 8);
        function.and_then(elf::symbol_at).is_some_and(|(name, _)| name.starts_with(EXAMPLE_METHOD))
    };
    let mut slots = (0..count).filter(is_tracker);
    match (slots.next(), slots.next()) {
        (Some(slot), None) => Ok(slot),
        _ => Err("this version of PyTorch has no trace tracker that is known"),
    }
}
