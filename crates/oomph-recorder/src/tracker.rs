//! The tracker itself: a `std::function` made by hand, and what it does when PyTorch calls it.
//!
//! PyTorch calls it under the lock of the device's allocator, on any thread, with or without the GIL.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use oomph_box::{Action, MemoryEvent, StackNumber};

use crate::recorder;

/// A `std::function` of libstdc++, which PyTorch is built with.
#[repr(C)]
struct Function {
    storage: [usize; 2],
    manager: unsafe extern "C" fn(*mut Function, *const Function, c_int) -> bool,
    invoker: unsafe extern "C" fn(*const Function, *const Entry),
}

const GET_FUNCTOR: c_int = 1;
const CLONE_FUNCTOR: c_int = 2;

/// `TraceEntry`: the words that are the same in all versions from 2.6 to 2.15.
#[repr(C)]
struct Entry {
    action: i32,
    device: i8,
    address: u64,
    context: [u64; 2],
    stream: u64,
    bytes: u64,
    /// The pool's two numbers and the time, or, before there were pools here, the time first.
    rest: [u64; 3],
}

/// The caller's part of handing a tracker over: what a C++ caller does with a temporary.
///
/// # Safety
/// `function` is the native allocator's `attachAllocatorTraceTracker`, `object` that allocator.
pub(crate) unsafe fn hand_over(object: usize, function: usize) {
    type Attach = unsafe extern "C-unwind" fn(*mut c_void, *mut Function);
    // SAFETY: the caller's promise: this is a function of that type.
    let attach: Attach = unsafe { std::mem::transmute(function as *const c_void) };
    let mut tracker = Function { storage: [0; 2], manager: manage, invoker: invoke };
    // SAFETY: an argument with a destructor is passed by reference in the C++ ABI. PyTorch copies it, through `manage`.
    unsafe { attach(object as *mut c_void, &raw mut tracker) };
}

/// What libstdc++ asks of every stored function. This one has no state, so there is nothing to copy or to destroy.
unsafe extern "C" fn manage(to: *mut Function, from: *const Function, operation: c_int) -> bool {
    match operation {
        // SAFETY: libstdc++ passes room for a pointer.
        GET_FUNCTOR => unsafe { to.cast::<*const Function>().write(from) },
        // SAFETY: libstdc++ passes room for the storage, which is all of it that is copied here.
        CLONE_FUNCTOR => unsafe { to.cast::<[usize; 2]>().write([0; 2]) },
        _ => {}
    }
    false
}

unsafe extern "C" fn invoke(_: *const Function, entry: *const Entry) {
    let Some(recorder) = recorder::current() else { return };
    // SAFETY: PyTorch passes an entry that lives as long as the call.
    let entry = unsafe { &*entry };
    let Some(action) = u8::try_from(entry.action).ok().and_then(Action::from_number) else { return };
    let stack = if wants_stack(action) { recorder.current_stack() } else { StackNumber(0) };
    let (pool, ticks) = pool_and_ticks(entry);
    let event = MemoryEvent {
        action,
        device: entry.device as u8,
        address: entry.address,
        bytes: entry.bytes,
        stack,
        lane: recorder.box_writer().lane(entry.stream, pool),
    };
    recorder.box_writer().memory_at(&event, ticks);
}

/// Of what is given back it is known where it came from; where it goes is not worth the time.
#[inline]
fn wants_stack(action: Action) -> bool {
    matches!(action, Action::Alloc | Action::SegmentAlloc | Action::SegmentMap | Action::Oom)
}

const UNDECIDED: u8 = 0;
const WITH_POOL: u8 = 1;
const WITHOUT_POOL: u8 = 2;
/// Beside one of the others: PyTorch took its time from the processor's counter, as it does on most machines.
const IN_TICKS: u8 = 4;

static ENTRY_LAYOUT: AtomicU8 = AtomicU8::new(UNDECIDED);

/// The pool of an entry, and when it happened. Whether entries have a pool is told by where their time stands: it is now.
#[inline]
fn pool_and_ticks(entry: &Entry) -> ((u64, u64), u64) {
    const POOL_AND_TICKS: u8 = WITH_POOL | IN_TICKS;
    const TICKS_ALONE: u8 = WITHOUT_POOL | IN_TICKS;
    let [first, second, third] = entry.rest;
    match ENTRY_LAYOUT.load(Relaxed) {
        POOL_AND_TICKS => ((first, second), third),
        TICKS_ALONE => ((0, 0), first),
        WITH_POOL => ((first, second), oomph_box::ticks()),
        WITHOUT_POOL => ((0, 0), oomph_box::ticks()),
        _ => {
            decide(entry);
            ((0, 0), oomph_box::ticks())
        }
    }
}

#[cold]
fn decide(entry: &Entry) {
    let [first, _, third] = entry.rest;
    for (time, layout) in [(third, WITH_POOL), (first, WITHOUT_POOL)] {
        if recorder::is_now(time) {
            let in_ticks = if recorder::is_now_in_ticks(time) { IN_TICKS } else { 0 };
            ENTRY_LAYOUT.store(layout | in_ticks, Relaxed);
            return;
        }
    }
}
