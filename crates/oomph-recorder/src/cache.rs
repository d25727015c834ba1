//! Finds small numbers by hash: fixed in size, without locks, made for far more reading than writing.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Slots looked at before an entry is given up.
const WINDOW: usize = 8;

/// A table from hashes to numbers. An entry is one word, the upper half of the hash and the number, so it is never seen
/// half written; what has no room takes the place of something else.
pub(crate) struct Cache {
    slots: Box<[AtomicU64]>,
}

fn tag(hash: u64) -> u64 {
    // Never 0: that is an empty slot.
    (hash >> 32) | 1
}

/// A hash and its number in one word.
#[inline]
fn entry_of(hash: u64, number: u32) -> u64 {
    tag(hash) << 32 | u64::from(number)
}

impl Cache {
    /// One with so many slots, rounded up to a power of two.
    pub(crate) fn of_slots(slots: usize) -> Self {
        Self { slots: empty(slots) }
    }

    #[inline]
    fn window(&self, hash: u64) -> impl Iterator<Item = &AtomicU64> {
        let mask = self.slots.len() - 1;
        let home = hash as usize;
        (0..WINDOW).filter_map(move |step| self.slots.get(home.wrapping_add(step) & mask))
    }

    /// The number that was kept for a hash.
    #[inline]
    pub(crate) fn get(&self, hash: u64) -> Option<u32> {
        let entries = self.window(hash).map(|slot| slot.load(Relaxed));
        let found = entries.take_while(|&entry| entry != 0).find(|entry| entry >> 32 == tag(hash))?;
        Some(found as u32)
    }

    /// Keeps a number for a hash.
    pub(crate) fn put(&self, hash: u64, number: u32) {
        let entry = entry_of(hash, number);
        let place = self
            .window(hash)
            .find(|slot| matches!(slot.load(Relaxed), held if held == 0 || held >> 32 == tag(hash)))
            .or_else(|| self.window(hash).nth(number as usize % WINDOW));
        if let Some(place) = place {
            place.store(entry, Relaxed);
        }
    }
}

/// What came after each number the last time it was another one. A job does the same in every step, and numbers are given
/// in the order in which they first come up, so this is read from one end to the other: it is in the processor's cache when
/// it is needed, where a place that depends on a hash seldom is. The same number again needs no place at all.
pub(crate) struct Followers {
    /// By the number before: an entry as in [`Cache`].
    slots: Box<[AtomicU64]>,
    /// The last one, likewise.
    last: AtomicU64,
}

impl Followers {
    /// One for so many numbers, rounded up to a power of two; larger ones share a place.
    pub(crate) fn of_slots(slots: usize) -> Self {
        Self { slots: empty(slots), last: AtomicU64::new(0) }
    }

    /// The number of a hash: the one that is expected, or else what `find` says.
    #[inline]
    pub(crate) fn get_or(&self, hash: u64, find: impl FnOnce() -> u32) -> u32 {
        let last = self.last.load(Relaxed);
        if last >> 32 == tag(hash) {
            return last as u32;
        }
        let Some(slot) = self.slots.get(last as u32 as usize & (self.slots.len() - 1)) else { return find() };
        let mut entry = slot.load(Relaxed);
        if entry >> 32 != tag(hash) {
            entry = entry_of(hash, find());
            slot.store(entry, Relaxed);
        }
        self.last.store(entry, Relaxed);
        entry as u32
    }
}

fn empty(slots: usize) -> Box<[AtomicU64]> {
    (0..slots.next_power_of_two()).map(|_| AtomicU64::new(0)).collect()
}

/// Spreads a sum over all bits.
#[inline]
pub(crate) fn finish(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_found_and_nothing_else() {
        let cache = Cache::of_slots(1000);
        for number in 0..400_u32 {
            cache.put(finish(u64::from(number) * 64 + 7), number);
        }
        let found = (0..400_u32).filter(|&number| cache.get(finish(u64::from(number) * 64 + 7)) == Some(number));
        assert!(found.count() > 395);
        assert!((0..400_u64).all(|number| cache.get(finish(number * 64 + 8)).is_none()));
    }

    #[test]
    fn a_full_cache_takes_new_entries() {
        let cache = Cache::of_slots(16);
        for number in 0..1000_u32 {
            let hash = finish(u64::from(number) * 977);
            cache.put(hash, number);
            assert_eq!(cache.get(hash), Some(number));
        }
    }

    #[test]
    fn what_follows_is_learned_and_never_mistaken() {
        let followers = Followers::of_slots(64);
        let hash = |number: u32| finish(u64::from(number) * 977 + 3);
        let orders: [&[u32]; 3] = [&[1, 2, 2, 3], &[1, 3, 2, 1], &[1, 2, 2, 3]];
        let mut asked = Vec::new();
        for order in orders.into_iter().cycle().take(9) {
            let mut count = 0;
            for &number in order {
                let found = followers.get_or(hash(number), || {
                    count += 1;
                    number
                });
                assert_eq!(found, number);
            }
            asked.push(count);
        }
        let mut steady = 0;
        for _ in 0..10 {
            for number in [5, 6, 6, 7, 8] {
                followers.get_or(hash(number), || {
                    steady += 1;
                    number
                });
            }
        }
        assert!(asked.iter().all(|&count| count > 0));
        assert_eq!(steady, 5, "the first step, and what follows its last");
    }
}
