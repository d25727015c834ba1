//! Contexts.
//!
//! A primary context's handle follows from its device. A thread's current context is the one it pushed or set last, or
//! the primary one of the device that it chose in the runtime, once that has one.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint, c_void};

use crate::call::{driver, put, put_if_wanted};
use crate::cudart::{disable_peer, enable_peer, limit, set_limit};
use crate::fault::{Fault, Outcome};
use crate::lock::Guarded;
use crate::{device, handle, memory, stream};

/// Handles of primary contexts: this, and one step for each device. Apart from all handles that [`handle`] gives out.
const PRIMARY: usize = 0x0000_f00c_0000_0000;
const STEP: usize = 0x100;

/// Contexts that programs made themselves, and their devices.
static MADE: Guarded<BTreeMap<usize, u32>> = Guarded::new(BTreeMap::new());

thread_local! {
    static STACK: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// The primary context of a device.
pub(super) fn primary(device: u32) -> usize {
    PRIMARY + device as usize * STEP
}

fn device_of(context: usize) -> Outcome<u32> {
    if (PRIMARY..handle::FIRST).contains(&context) {
        let device = ((context - PRIMARY) / STEP) as u32;
        return device::card(device).map(|_| device).map_err(|_| Fault::INVALID_CONTEXT);
    }
    MADE.lock().get(&context).copied().ok_or(Fault::INVALID_CONTEXT)
}

/// The current context of this thread; 0 if it has none.
fn current() -> usize {
    let chosen = device::current();
    let top = STACK.with_borrow(|stack| stack.last().copied());
    match top {
        Some(context) if device_of(context) == Ok(chosen) => context,
        _ if memory::has_context(chosen) => primary(chosen),
        _ => 0,
    }
}

fn enter(context: usize) -> Outcome {
    let device = device_of(context)?;
    device::choose(device);
    device::enter_device(device)
}

fn create(of: c_int) -> Outcome<usize> {
    let device = device::checked(of)?;
    device::enter_device(device)?;
    device::choose(device);
    let context = handle::fresh();
    MADE.lock().insert(context, device);
    STACK.with_borrow_mut(|stack| stack.push(context));
    Ok(context)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxCreate_v2(out: *mut usize, _flags: c_uint, of: c_int) -> c_int {
    // SAFETY: the caller's pointer.
    driver(|| unsafe { put(out, create(of)?) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxCreate_v3(
    out: *mut usize,
    _parameters: *const c_void,
    _count: c_int,
    _flags: c_uint,
    of: c_int,
) -> c_int {
    // SAFETY: the caller's pointer.
    driver(|| unsafe { put(out, create(of)?) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxCreate_v4(out: *mut usize, _parameters: *const c_void, _flags: c_uint, of: c_int) -> c_int {
    // SAFETY: the caller's pointer.
    driver(|| unsafe { put(out, create(of)?) })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxDestroy_v2(context: usize) -> c_int {
    driver(|| {
        MADE.lock().remove(&context).ok_or(Fault::INVALID_CONTEXT)?;
        STACK.with_borrow_mut(|stack| stack.retain(|&other| other != context));
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetCurrent(out: *mut usize) -> c_int {
    // SAFETY: the caller's pointer.
    driver(|| unsafe { put(out, current()) })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(context: usize) -> c_int {
    driver(|| {
        STACK.with_borrow_mut(Vec::pop);
        if context == 0 {
            return Ok(());
        }
        enter(context)?;
        STACK.with_borrow_mut(|stack| stack.push(context));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxPushCurrent_v2(context: usize) -> c_int {
    driver(|| {
        enter(context)?;
        STACK.with_borrow_mut(|stack| stack.push(context));
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxPopCurrent_v2(out: *mut usize) -> c_int {
    driver(|| {
        let top = STACK.with_borrow_mut(Vec::pop).ok_or(Fault::INVALID_CONTEXT)?;
        // SAFETY: the caller's pointer.
        unsafe { put_if_wanted(out, top) };
        match STACK.with_borrow(|stack| stack.last().copied()) {
            Some(below) => enter(below),
            None => Ok(()),
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetDevice(out: *mut c_int) -> c_int {
    driver(|| match current() {
        0 => Err(Fault::INVALID_CONTEXT),
        // SAFETY: the caller's pointer.
        context => unsafe { put(out, device_of(context)? as c_int) },
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetDevice_v2(out: *mut c_int, context: usize) -> c_int {
    driver(|| {
        let context = if context == 0 { current() } else { context };
        // SAFETY: the caller's pointer.
        unsafe { put(out, device_of(context)? as c_int) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetId(context: usize, out: *mut u64) -> c_int {
    let context = if context == 0 { current() } else { context };
    // SAFETY: the caller's pointer.
    driver(|| unsafe { put(out, context as u64) })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize() -> c_int {
    driver(stream::synchronize_device)
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize_v2(_context: usize) -> c_int {
    driver(stream::synchronize_device)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetFlags(out: *mut c_uint) -> c_int {
    // SAFETY: the caller's pointer.
    driver(|| unsafe { put(out, 8) })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetFlags(_flags: c_uint) -> c_int {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetApiVersion(_context: usize, out: *mut c_uint) -> c_int {
    // SAFETY: the caller's pointer.
    driver(|| unsafe { put(out, 3020) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetLimit(out: *mut usize, number: c_int) -> c_int {
    // SAFETY: the caller's pointer.
    driver(|| unsafe { put(out, limit(number)?) })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetLimit(number: c_int, value: usize) -> c_int {
    driver(|| set_limit(number, value))
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxEnablePeerAccess(peer: usize, _flags: c_uint) -> c_int {
    driver(|| enable_peer(device_of(peer)?))
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxDisablePeerAccess(peer: usize) -> c_int {
    driver(|| disable_peer(device_of(peer)?))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxRetain(out: *mut usize, of: c_int) -> c_int {
    driver(|| {
        let device = device::checked(of)?;
        device::enter_device(device)?;
        // SAFETY: the caller's pointer.
        unsafe { put(out, primary(device)) }
    })
}

/// A primary context stays until the process ends, as the runtime keeps one too.
#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(of: c_int) -> c_int {
    driver(|| device::checked(of).map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxReset_v2(of: c_int) -> c_int {
    driver(|| device::checked(of).map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxSetFlags_v2(of: c_int, _flags: c_uint) -> c_int {
    driver(|| device::checked(of).map(drop))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxGetState(of: c_int, flags: *mut c_uint, active: *mut c_int) -> c_int {
    driver(|| {
        let device = device::checked(of)?;
        // SAFETY: the caller's pointers.
        unsafe { put_if_wanted(flags, 0) };
        // SAFETY: the caller's pointers.
        unsafe { put(active, c_int::from(memory::has_context(device))) }
    })
}

/// The context of a stream is the primary one of its device.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamGetCtx(of: usize, out: *mut usize) -> c_int {
    // SAFETY: the caller's pointer.
    driver(|| unsafe { put(out, primary(stream::get(of)?.device)) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamGetCtx_v2(of: usize, out: *mut usize, green: *mut usize) -> c_int {
    // SAFETY: the caller's pointers.
    driver(|| unsafe {
        put_if_wanted(green, 0);
        put(out, primary(stream::get(of)?.device))
    })
}
