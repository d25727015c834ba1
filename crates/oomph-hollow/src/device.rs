//! The device a thread works on.

use std::cell::Cell;

use crate::card::{Card, cards};

thread_local! {
    static CURRENT: Cell<u32> = const { Cell::new(0) };
}

/// The device that this thread has chosen; 0 unless it has.
pub(crate) fn current() -> u32 {
    CURRENT.get()
}

/// Chooses the device of this thread. Whether there is such a device is the caller's to check.
pub(crate) fn choose(device: u32) {
    CURRENT.set(device);
}

/// The card of this thread's device; none if there are no devices.
pub(crate) fn current_card() -> Option<&'static Card> {
    cards().get(current() as usize)
}
