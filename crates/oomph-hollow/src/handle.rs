//! Handles: numbers that look like the pointers that programs expect, and that nothing lies behind.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Above every address that user space can have on common machines, so that a handle is never taken for memory, and
/// far enough apart that nobody finds one inside another.
pub(crate) const FIRST: usize = 0x0000_f00d_0000_0000;
const STEP: usize = 0x100;

static NEXT: AtomicUsize = AtomicUsize::new(FIRST);

/// A handle that this process has not given out before.
pub(crate) fn fresh() -> usize {
    NEXT.fetch_add(STEP, Ordering::Relaxed)
}
