//! The device a thread works on, and the contexts that work brings about.
//!
//! A context is made on a device, and charged there, by the first call that needs one, as in the runtime since CUDA 12.
//! In a child that was forked after CUDA had been used every such call fails, as with the real driver.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::card::{Card, cards};
use crate::fault::{Fault, Outcome};
use crate::{memory, process};

thread_local! {
    static CURRENT: Cell<u32> = const { Cell::new(0) };
}

/// Devices that have a context, one bit each for the first 64.
static WITH_CONTEXT: AtomicU64 = AtomicU64::new(0);

/// The device that this thread has chosen; 0 unless it has.
pub(crate) fn current() -> u32 {
    CURRENT.get()
}

/// Chooses the device of this thread.
pub(crate) fn choose(device: u32) {
    CURRENT.set(device);
}

/// How many devices there are; an error where none can be used.
pub(crate) fn count() -> Outcome<u32> {
    if !process::can_use_cards() {
        return Err(Fault::NOT_INITIALIZED);
    }
    process::initialized();
    match cards().len() as u32 {
        0 => Err(Fault::NO_DEVICE),
        count => Ok(count),
    }
}

/// A device number as C gives it, checked.
pub(crate) fn checked(device: c_int) -> Outcome<u32> {
    let count = count()?;
    u32::try_from(device).ok().filter(|&device| device < count).ok_or(Fault::INVALID_DEVICE)
}

/// The card of a device.
pub(crate) fn card(device: u32) -> Outcome<&'static Card> {
    cards().get(device as usize).ok_or(Fault::INVALID_DEVICE)
}

/// The card of this thread's device; none if there are no devices.
pub(crate) fn current_card() -> Option<&'static Card> {
    cards().get(current() as usize)
}

/// Makes sure that this thread's device has a context, and returns the device.
pub(crate) fn enter() -> Outcome<u32> {
    let device = current();
    enter_device(device)?;
    Ok(device)
}

/// Makes sure that a device has a context.
pub(crate) fn enter_device(device: u32) -> Outcome {
    let bit = 1_u64.checked_shl(device).unwrap_or(0);
    if WITH_CONTEXT.load(Ordering::Relaxed) & bit != 0 {
        return Ok(());
    }
    count()?;
    memory::charge_context(device)?;
    WITH_CONTEXT.fetch_or(bit, Ordering::Relaxed);
    Ok(())
}

/// In a child after a fork: no context is left.
pub(crate) fn forked() {
    WITH_CONTEXT.store(0, Ordering::Relaxed);
}
