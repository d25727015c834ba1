//! What a plan has to know besides memory: unmodelled calls by name, kernel launches, device-to-host copies.
//!
//! Counting takes no lock: a launch costs one atomic addition, an unmodelled call the same.

use std::collections::BTreeMap;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Kernels launched by this process, by whatever library.
pub(crate) static LAUNCHES: Counter = Counter::new();
/// Copies from the device to the host: the values that a hollow run cannot know.
pub(crate) static READS: Counter = Counter::new();

/// Called on every read, on the thread that reads; null where nobody wants to know.
static ON_READ: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

static TALLIES: AtomicPtr<Tally> = AtomicPtr::new(ptr::null_mut());

/// What [`on_read`] is given.
pub(crate) type ReadCallback = extern "C" fn();

/// Has `callback` called on every read from now on, which lets oomph's Python note the line that reads.
pub(crate) fn on_read(callback: Option<ReadCallback>) {
    ON_READ.store(callback.map_or(ptr::null_mut(), |callback| callback as *mut ()), Ordering::Release);
}

/// Counts a copy from the device to the host and tells whoever asked. Call it with no lock held.
pub(crate) fn read() {
    READS.add_one();
    let callback = ON_READ.load(Ordering::Acquire);
    if !callback.is_null() {
        // SAFETY: only `on_read` stores here, and it stores functions of this type.
        let callback = unsafe { std::mem::transmute::<*mut (), ReadCallback>(callback) };
        callback();
    }
}

/// A number that only grows.
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(crate) fn add_one(&self) {
        self.add(1);
    }

    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts the calls of one unmodelled function (or of one unmodelled use of a modelled one).
#[derive(Debug)]
pub(crate) struct Tally {
    name: &'static str,
    count: AtomicU64,
    next: AtomicPtr<Tally>,
}

impl Tally {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, count: AtomicU64::new(0), next: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Counts one call; the first one puts the tally on the list that [`unmodelled`] reads.
    pub(crate) fn hit(&'static self) {
        if self.count.fetch_add(1, Ordering::Relaxed) > 0 {
            return;
        }
        let me = ptr::from_ref(self).cast_mut();
        let mut head = TALLIES.load(Ordering::Acquire);
        // After a fork the counts start again at zero while the list stays: a tally must not be put on it twice.
        if self.is_listed(head) {
            return;
        }
        loop {
            self.next.store(head, Ordering::Release);
            match TALLIES.compare_exchange(head, me, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    fn is_listed(&'static self, mut at: *mut Tally) -> bool {
        // SAFETY: the list holds addresses of statics only, and links are never taken out.
        while let Some(tally) = unsafe { at.as_ref() } {
            if ptr::eq(tally, self) {
                return true;
            }
            at = tally.next.load(Ordering::Acquire);
        }
        false
    }
}

/// Counts a use that a modelled function does not model, by a name of its own: `unmodelled!("cudaFoo: flag 4")`.
macro_rules! unmodelled {
    ($name:expr) => {{
        static TALLY: $crate::count::Tally = $crate::count::Tally::new($name);
        TALLY.hit();
    }};
}
pub(crate) use unmodelled;

/// Unmodelled calls of this process so far, by name.
pub(crate) fn unmodelled_calls() -> BTreeMap<&'static str, u64> {
    let mut calls = BTreeMap::new();
    let mut at = TALLIES.load(Ordering::Acquire);
    // SAFETY: the list holds addresses of statics only, and links are never taken out.
    while let Some(tally) = unsafe { at.as_ref() } {
        let count = tally.count.load(Ordering::Relaxed);
        if count > 0 {
            *calls.entry(tally.name).or_default() += count;
        }
        at = tally.next.load(Ordering::Acquire);
    }
    calls
}

/// Starts again at zero, in a child after a fork: what the parent did is the parent's to report.
pub(crate) fn reset() {
    LAUNCHES.0.store(0, Ordering::Relaxed);
    READS.0.store(0, Ordering::Relaxed);
    let mut at = TALLIES.load(Ordering::Acquire);
    // SAFETY: the list holds addresses of statics only, and links are never taken out.
    while let Some(tally) = unsafe { at.as_ref() } {
        tally.count.store(0, Ordering::Relaxed);
        at = tally.next.load(Ordering::Acquire);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_told_to_whoever_asked() {
        static TOLD: Counter = Counter::new();
        extern "C" fn told() {
            TOLD.add_one();
        }
        on_read(Some(told));
        read();
        on_read(None);
        let count = TOLD.get();
        assert!(count > 0);
        read();
        assert_eq!(TOLD.get(), count);
    }

    #[test]
    fn calls_are_counted_by_name_from_every_thread() {
        fn call() {
            unmodelled!("test: counted from threads");
        }
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(|| (0..1000).for_each(|_| call()))).collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(unmodelled_calls()["test: counted from threads"], 4000);
    }
}
