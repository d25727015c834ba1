//! What all processes of a plan know without asking the file system: which paths the layer may hold.
//!
//! The file `state` is mapped into every process. It holds two Bloom filters over paths: one of everything that ever had
//! an entry in the layer, one of folders that were moved there with all they contain. A path that the filters do not
//! know is certainly not in the layer, so reading it costs no system call more than without the layer. Bits are set
//! before the entry is made and never cleared: a process that dies at any moment leaves nothing wrong behind.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sys::{self, Answer, Fd};

/// Words of 64 bits in the filter of paths: one MiB, of which only the pages in use take room.
const PATH_WORDS: usize = 1 << 17;
/// Words in the filter of moved folders.
const MOVED_WORDS: usize = 1 << 10;
/// Counters before the filters.
const HEAD_WORDS: usize = 8;
const WORDS: usize = HEAD_WORDS + PATH_WORDS + MOVED_WORDS;

/// The shared words of one plan.
pub(crate) struct State {
    words: &'static [AtomicU64],
}

/// Counters, by their place in the file.
#[derive(Clone, Copy)]
enum Counter {
    Changed = 0,
    CopiedBytes = 1,
    Stopped = 2,
    Folders = 3,
}

impl State {
    /// Maps the file, sizing it where it is new. Sizing twice is harmless.
    pub(crate) fn map(path: &CStr) -> Answer<Self> {
        let file = Fd::open(path, libc::O_RDWR | libc::O_CREAT, 0o600)?;
        let bytes = WORDS * size_of::<AtomicU64>();
        if sys::fstat(file.0)?.st_size < bytes as i64 {
            sys::ftruncate(file.0, bytes as i64)?;
        }
        let address = sys::map_shared(file.0, bytes)?;
        // SAFETY: the mapping has that many bytes, is aligned to a page, is never unmapped, and all zeros are valid.
        let words = unsafe { std::slice::from_raw_parts(address.cast_const().cast(), WORDS) };
        Ok(Self { words })
    }

    fn counter(&self, counter: Counter) -> Option<&AtomicU64> {
        self.words.get(counter as usize)
    }

    /// Has anything been changed yet?
    pub(crate) fn changed(&self) -> bool {
        self.counter(Counter::Changed).is_none_or(|word| word.load(Ordering::Acquire) != 0)
    }

    /// Says that a path is about to have an entry in the layer.
    pub(crate) fn add(&self, hash: PathHash) {
        self.set(hash, HEAD_WORDS, PATH_WORDS);
        if let Some(word) = self.counter(Counter::Changed) {
            word.store(1, Ordering::Release);
        }
    }

    /// May the layer have an entry for this path?
    pub(crate) fn may_have(&self, hash: PathHash) -> bool {
        self.has(hash, HEAD_WORDS, PATH_WORDS)
    }

    /// Says that a folder is about to be moved here with all that it contains.
    pub(crate) fn add_moved(&self, hash: PathHash) {
        self.set(hash, HEAD_WORDS + PATH_WORDS, MOVED_WORDS);
        self.add(hash);
    }

    /// May this folder have been moved here, so that the names below it are unknown?
    pub(crate) fn may_be_moved(&self, hash: PathHash) -> bool {
        self.has(hash, HEAD_WORDS + PATH_WORDS, MOVED_WORDS)
    }

    /// Counts bytes that were copied from real files; the sum so far.
    pub(crate) fn count_copied(&self, bytes: u64) -> u64 {
        self.counter(Counter::CopiedBytes).map_or(bytes, |word| word.fetch_add(bytes, Ordering::Relaxed) + bytes)
    }

    /// A number that changes when a folder is removed or renamed: what was known about folders holds no longer.
    pub(crate) fn folders(&self) -> u64 {
        self.counter(Counter::Folders).map_or(0, |word| word.load(Ordering::Acquire))
    }

    /// Runs a change that removes or renames folders. Whoever looks meanwhile keeps nothing for later: the number is
    /// another one before and after.
    pub(crate) fn changing_folders<T>(&self, change: impl FnOnce() -> T) -> T {
        let count = || self.counter(Counter::Folders).map(|word| word.fetch_add(1, Ordering::AcqRel));
        count();
        let changed = change();
        count();
        changed
    }

    /// Says that the plan has to end; true for the first who says so.
    pub(crate) fn stop(&self) -> bool {
        self.counter(Counter::Stopped).is_some_and(|word| word.swap(1, Ordering::AcqRel) == 0)
    }

    /// Has the plan to end?
    pub(crate) fn stopped(&self) -> bool {
        self.counter(Counter::Stopped).is_some_and(|word| word.load(Ordering::Relaxed) != 0)
    }

    fn set(&self, hash: PathHash, start: usize, words: usize) {
        for (word, bit) in hash.bits(words) {
            if let Some(word) = self.words.get(start + word) {
                word.fetch_or(bit, Ordering::Release);
            }
        }
    }

    fn has(&self, hash: PathHash, start: usize, words: usize) -> bool {
        hash.bits(words)
            .all(|(word, bit)| self.words.get(start + word).is_none_or(|word| word.load(Ordering::Acquire) & bit != 0))
    }
}

/// The hash of a canonical path, made name by name (FNV-1a).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathHash(u64);

impl PathHash {
    /// The root's.
    pub(crate) const ROOT: Self = Self(0xcbf2_9ce4_8422_2325);

    /// Of a whole path without a slash at its end.
    pub(crate) fn of(path: &[u8]) -> Self {
        Self::ROOT.then(path)
    }

    /// Of this path followed by more.
    pub(crate) fn then(self, more: &[u8]) -> Self {
        Self(more.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)))
    }

    /// The hash with its bits well mixed, never zero.
    pub(crate) fn mixed(self) -> u64 {
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) | 1
    }

    /// Two bits of a filter with that many words, a power of two: the word and the bit in it.
    fn bits(self, words: usize) -> impl Iterator<Item = (usize, u64)> {
        let mixed = self.mixed();
        [mixed >> 1, mixed >> 33].into_iter().map(move |half| ((half as usize >> 6) & (words - 1), 1 << (half & 63)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mapping_of_a_file_sees_what_another_added() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = std::ffi::CString::new(folder.path().join("state").to_string_lossy().into_owned())?;
        let one = State::map(&path).map_err(|errno| errno.0.to_string())?;
        let two = State::map(&path).map_err(|errno| errno.0.to_string())?;
        assert!(!two.changed());
        one.add(PathHash::of(b"/home/me/x"));
        assert!(two.changed());
        assert!(two.may_have(PathHash::of(b"/home/me").then(b"/x")));
        assert!(!two.may_be_moved(PathHash::of(b"/home/me/x")));
        let unknown = (0..10_000).filter(|n| two.may_have(PathHash::of(format!("/other/{n}").as_bytes()))).count();
        assert_eq!(unknown, 0);
        Ok(())
    }
}
