//! Memory for what a plan works out beside the script, which lies apart from the script's own.
//!
//! Which of several free blocks PyTorch's allocator takes depends on their addresses. Those of a card come from the same
//! kernel as those of the host's large blocks, which leave holes when they go; so a large block of ours that stays where
//! the real job has a hole would change what fits where on the card. Ours are taken from addresses of their own instead.
//!
//! Nothing of the plan's is the job's when its host memory is counted, wherever it lies.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::lock::Guarded;

/// Smaller blocks lie in the C library's heap, as a rule, and leave no holes that a card's memory could go to.
const LARGE_BYTES: usize = 128 << 10;
/// Addresses that nothing else is given, far below those that the kernel deals out from the top.
const START: u64 = 0x1000_0000_0000;
const END: u64 = 0x2000_0000_0000;
/// Blocks that came back are kept up to this many bytes: fresh pages cost more than many kernels do.
const MOST_KEPT_BYTES: u64 = 256 << 20;
const PAGE_BYTES: u64 = 4096;

/// What a thread does now, as it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// The script's work.
    Script,
    /// Work beside the script.
    Aside,
    /// It keeps something for the plan where the script's blocks lie. Such blocks are not the job's either.
    Keeping,
}

thread_local! {
    static DOING: Cell<Doing> = const { Cell::new(Doing::Script) };
}

/// Blocks among the script's that are the plan's: how long they are, by address. Their number is read without the lock,
/// because nearly always there are none.
static AMONG: Guarded<BTreeMap<u64, u64>> = Guarded::new(BTreeMap::new());
static COUNT_AMONG: AtomicUsize = AtomicUsize::new(0);

/// What lies apart, blocks that came back and are kept among it.
static APART_BYTES: AtomicU64 = AtomicU64::new(0);
static BLOCKS: Guarded<Blocks> =
    Guarded::new(Blocks { next: START, taken: BTreeMap::new(), kept: BTreeMap::new(), kept_bytes: 0 });

struct Blocks {
    next: u64,
    /// By address: how long they are.
    taken: BTreeMap<u64, u64>,
    /// By length: those that came back.
    kept: BTreeMap<u64, Vec<u64>>,
    kept_bytes: u64,
}

/// Says what this thread does from now on, and returns what it did so far.
pub(crate) fn set(doing: Doing) -> Doing {
    DOING.replace(doing)
}

/// Takes note of a block that the C library gave out; whether it is the plan's.
pub(crate) fn is_own(address: u64, bytes: u64) -> bool {
    if DOING.get() == Doing::Script {
        return false;
    }
    AMONG.lock().insert(address, bytes);
    COUNT_AMONG.fetch_add(1, Ordering::Relaxed);
    true
}

/// A block goes back to the C library: how long it is, if it was the plan's.
pub(crate) fn forget_own(address: u64) -> Option<u64> {
    if COUNT_AMONG.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let bytes = AMONG.lock().remove(&address)?;
    COUNT_AMONG.fetch_sub(1, Ordering::Relaxed);
    Some(bytes)
}

/// A block for this thread, if it works beside the script and the block is large.
pub(crate) fn take(bytes: usize) -> Option<u64> {
    if bytes < LARGE_BYTES || DOING.get() != Doing::Aside {
        return None;
    }
    let bytes = (bytes as u64).next_multiple_of(PAGE_BYTES);
    let mut blocks = BLOCKS.lock();
    let kept = blocks.kept.get_mut(&bytes).and_then(Vec::pop);
    let address = if let Some(address) = kept {
        blocks.kept_bytes -= bytes;
        address
    } else {
        let wanted = blocks.next;
        if bytes > END - wanted || !map(wanted, bytes) {
            return None;
        }
        blocks.next += bytes;
        APART_BYTES.fetch_add(bytes, Ordering::Relaxed);
        wanted
    };
    blocks.taken.insert(address, bytes);
    Some(address)
}

/// What lies apart now.
pub(crate) fn apart_bytes() -> u64 {
    APART_BYTES.load(Ordering::Relaxed)
}

/// Takes a block back, if it is one of these.
pub(crate) fn give_back(address: u64) -> bool {
    if !(START..END).contains(&address) {
        return false;
    }
    let mut blocks = BLOCKS.lock();
    let Some(bytes) = blocks.taken.remove(&address) else { return false };
    if blocks.kept_bytes + bytes <= MOST_KEPT_BYTES {
        blocks.kept_bytes += bytes;
        blocks.kept.entry(bytes).or_default().push(address);
    } else {
        APART_BYTES.fetch_sub(bytes, Ordering::Relaxed);
        // SAFETY: mapped by `take`, and its owner has just given it back.
        unsafe { libc::munmap(address as *mut c_void, bytes as usize) };
    }
    true
}

fn map(address: u64, bytes: u64) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, which replaces nothing.
    let start = unsafe { libc::mmap(address as *mut c_void, bytes as usize, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return false;
    }
    if start as u64 != address {
        // A kernel from before Linux 4.17 takes the address for a wish.
        // SAFETY: just mapped, and nobody else knows of it.
        unsafe { libc::munmap(start, bytes as usize) };
    }
    start as u64 == address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_blocks_of_a_thread_that_works_aside_lie_apart() {
        assert_eq!(take(1 << 20), None, "the script's own");
        assert_eq!(set(Doing::Aside), Doing::Script);
        assert_eq!(take(1 << 10), None, "a small one");
        let first = take(1 << 20).unwrap();
        let second = take(1 << 20).unwrap();
        assert!((START..END).contains(&first) && second >= first + (1 << 20));
        // SAFETY: a block that was just taken.
        unsafe { (first as *mut u8).write(1) };
        assert!(give_back(first) && !give_back(first), "once");
        assert_eq!(take(1 << 20), Some(first), "it is used again");
        assert!(give_back(first) && give_back(second));
        assert_eq!(set(Doing::Script), Doing::Aside);
        assert!(!give_back(0x7fff_0000_0000), "somebody else's");
    }

    #[test]
    fn what_a_thread_keeps_for_the_plan_is_the_plans() {
        let address = 0x7fff_1111_0000;
        assert!(!is_own(address, 64) && forget_own(address).is_none(), "the script's");
        assert_eq!(set(Doing::Keeping), Doing::Script);
        assert_eq!(take(1 << 20), None, "it lies where the script's do");
        assert!(is_own(address, 64));
        assert_eq!(set(Doing::Script), Doing::Keeping);
        assert_eq!(forget_own(address), Some(64), "whoever gives it back");
        assert_eq!(forget_own(address), None);
    }
}
