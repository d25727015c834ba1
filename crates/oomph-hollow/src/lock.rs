//! A lock that survives `fork`.
//!
//! Workers of a `DataLoader` are forked while autograd's threads run. Were one of those inside a critical section, its
//! lock would stay taken forever in the child. So before a fork every lock is taken, and given back on both sides.
//! That works because of one rule: **whoever holds a [`Guarded`] takes no other.**

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// A value behind a lock, for statics.
pub(crate) struct Guarded<T> {
    lock: Lock,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through a guard only, and the lock lets one thread at a time have one.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { lock: Lock::new(), value: UnsafeCell::new(value) }
    }

    /// Waits for the value. The caller must hold no other [`Guarded`].
    pub(crate) fn lock(&'static self) -> Guard<T> {
        self.lock.register();
        self.lock.take();
        Guard(self)
    }
}

/// The value while this thread alone has it.
pub(crate) struct Guard<T: 'static>(&'static Guarded<T>);

impl<T> Deref for Guard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard holds the lock, and is borrowed alone.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<T> {
    fn drop(&mut self) {
        self.0.lock.give_back();
    }
}

struct Lock {
    raw: UnsafeCell<libc::pthread_mutex_t>,
    registered: AtomicBool,
    next: AtomicPtr<Lock>,
}

// SAFETY: a mutex is made to be shared; the other fields are atomic.
unsafe impl Sync for Lock {}

/// Guards [`LOCKS`] against a fork half way through a registration.
static REGISTRY: Lock = Lock::new();
static LOCKS: AtomicPtr<Lock> = AtomicPtr::new(ptr::null_mut());

impl Lock {
    const fn new() -> Self {
        Self {
            raw: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            registered: AtomicBool::new(false),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    fn register(&'static self) {
        if self.registered.load(Ordering::Acquire) {
            return;
        }
        REGISTRY.take();
        if !self.registered.load(Ordering::Acquire) {
            self.next.store(LOCKS.load(Ordering::Acquire), Ordering::Release);
            LOCKS.store(ptr::from_ref(self).cast_mut(), Ordering::Release);
            self.registered.store(true, Ordering::Release);
        }
        REGISTRY.give_back();
    }

    fn take(&self) {
        // SAFETY: the mutex is initialised, and never moved since it lives in a static.
        unsafe { libc::pthread_mutex_lock(self.raw.get()) };
    }

    fn give_back(&self) {
        // SAFETY: as in `take`; this thread (or the thread that forked it) holds the mutex.
        unsafe { libc::pthread_mutex_unlock(self.raw.get()) };
    }
}

fn each_lock(act: impl Fn(&Lock)) {
    let mut at = LOCKS.load(Ordering::Acquire);
    // SAFETY: only statics register themselves, and none is ever taken off the list.
    while let Some(lock) = unsafe { at.as_ref() } {
        act(lock);
        at = lock.next.load(Ordering::Acquire);
    }
}

extern "C" fn before_fork() {
    REGISTRY.take();
    each_lock(Lock::take);
}

extern "C" fn after_fork() {
    each_lock(Lock::give_back);
    REGISTRY.give_back();
}

extern "C" fn after_fork_in_child() {
    after_fork();
    crate::process::forked();
}

/// Makes forks safe from now on.
pub(crate) fn watch_forks() {
    // SAFETY: the handlers are functions of this library, which is never unloaded.
    unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(after_fork_in_child)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    static COUNT: Guarded<u64> = Guarded::new(0);

    #[test]
    fn one_thread_at_a_time_has_the_value() {
        let threads: Vec<_> =
            (0..4).map(|_| std::thread::spawn(|| (0..10_000).for_each(|_| *COUNT.lock() += 1))).collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(*COUNT.lock(), 40_000);
    }
}
