//! The words of a box, wherever they lie: in a file that processes share, or in this process alone.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use memmap2::{Advice, MmapOptions, MmapRaw};

use crate::layout::WORD_BYTES;

/// No page is smaller.
pub(crate) const PAGE_WORDS: usize = 4096 / WORD_BYTES;

/// Words that others may change at any moment, so all of them are atomic.
pub(crate) struct Memory {
    /// Of what `owner` holds.
    words: *const [AtomicU64],
    owner: Owner,
}

/// Held for what it does when it is dropped.
enum Owner {
    Mapped { map: MmapRaw },
    Private { _words: Box<[AtomicU64]> },
}

// SAFETY: the words are atomics, and neither a mapping nor a box belongs to one thread.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Maps a whole file for writing.
    pub(crate) fn map(file: &File) -> io::Result<Self> {
        Ok(Self::of_map(MmapOptions::new().map_raw(file)?))
    }

    /// Makes every page ready to be written to. A page that is first touched in the middle of a step costs that step a
    /// page fault, which takes hundreds of microseconds in some sandboxes.
    pub(crate) fn populate(&self) {
        let Owner::Mapped { map } = &self.owner else { return };
        if map.advise(Advice::PopulateWrite).is_err() {
            // A kernel before 5.14.
            (0..self.words().len()).step_by(PAGE_WORDS).for_each(|at| self.touch(at));
        }
    }

    /// Stores what a word holds, so that its page is ready to be written to. Adding nothing would not do: compilers make a
    /// load of that.
    pub(crate) fn touch(&self, at: usize) {
        if let Some(word) = self.words().get(at) {
            let held = word.load(Relaxed);
            // Where another thread was faster, it has stored something.
            let _ = word.compare_exchange(held, held, Relaxed, Relaxed);
        }
    }

    /// Has the kernel forget where pages lie, as if it had written them to the disk: the next store to each is a fault.
    #[cfg(test)]
    pub(crate) fn let_go(&self) {
        let Owner::Mapped { map } = &self.owner else { return };
        // SAFETY: pages of a file that is mapped and shared keep what they hold.
        unsafe { libc::madvise(map.as_mut_ptr().cast(), map.len(), libc::MADV_DONTNEED) };
    }

    /// Maps a whole file for reading: nothing may be stored in it.
    pub(crate) fn map_read_only(file: &File) -> io::Result<Self> {
        Ok(Self::of_map(MmapOptions::new().map_raw_read_only(file)?))
    }

    /// So many zeros.
    pub(crate) fn zeroed(words: usize) -> Self {
        Self::of_words((0..words).map(|_| AtomicU64::new(0)).collect())
    }

    /// A copy of bytes; an incomplete word at their end is left out.
    pub(crate) fn copy_of(bytes: &[u8]) -> Self {
        let (chunks, _) = bytes.as_chunks::<WORD_BYTES>();
        Self::of_words(chunks.iter().map(|chunk| AtomicU64::new(u64::from_le_bytes(*chunk))).collect())
    }

    #[expect(clippy::cast_ptr_alignment, reason = "a mapping begins on a page")]
    fn of_map(map: MmapRaw) -> Self {
        let start = map.as_ptr().cast::<AtomicU64>();
        let words = std::ptr::slice_from_raw_parts(start, map.len() / WORD_BYTES);
        Self { words, owner: Owner::Mapped { map } }
    }

    fn of_words(words: Box<[AtomicU64]>) -> Self {
        Self { words: &raw const *words, owner: Owner::Private { _words: words } }
    }

    /// All words.
    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: they lie in what `owner` holds, which is aligned and stays where it is as long as `self` is there.
        // Words are reached as atomics alone, and a read-only mapping is only ever loaded from.
        unsafe { &*self.words }
    }

    /// One word; 0 where there is none.
    #[inline]
    pub(crate) fn load(&self, at: usize) -> u64 {
        self.words().get(at).map_or(0, |word| word.load(Relaxed))
    }

    /// Sets one word, if there is one.
    #[inline]
    pub(crate) fn store(&self, at: usize, value: u64) {
        if let Some(word) = self.words().get(at) {
            word.store(value, Relaxed);
        }
    }

    /// Asks the processor to have a word ready to be stored to. The ring is larger than its caches, and the next event's
    /// number waits until all earlier stores are done.
    #[inline]
    pub(crate) fn will_store(&self, at: usize) {
        #[cfg(target_arch = "x86_64")]
        if let Some(word) = self.words().get(at) {
            use core::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
            // SAFETY: a hint that changes nothing, about a word that is there.
            unsafe { _mm_prefetch::<_MM_HINT_ET0>(std::ptr::from_ref(word).cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = at;
    }

    /// `count` words from `start`; empty where they are not all there.
    #[inline]
    pub(crate) fn slice(&self, start: usize, count: usize) -> &[AtomicU64] {
        start.checked_add(count).and_then(|end| self.words().get(start..end)).unwrap_or_default()
    }

    /// One record of `N` words.
    #[inline]
    pub(crate) fn record<const N: usize>(&self, start: usize) -> Option<&[AtomicU64; N]> {
        self.slice(start, N).as_array()
    }

    /// All of it, as a file would hold it.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.words().iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect()
    }
}

/// Makes a file so long and takes all the disk space it needs: a store to a mapped page for which there is no room ends
/// the process.
pub(crate) fn take_disk_space(file: &File, bytes: usize) -> io::Result<()> {
    // SAFETY: the descriptor is open as long as `file` is.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes as libc::off_t) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}
