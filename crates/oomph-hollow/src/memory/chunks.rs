//! Small pieces out of larger chunks: what the driver does for requests under a page and for its memory pools.

use std::collections::{BTreeMap, BTreeSet};

use super::gaps::Gaps;

/// Every address that a piece gets is a multiple of this.
pub(crate) const UNIT_BYTES: u64 = 512;

#[derive(Debug)]
struct Chunk {
    bytes: u64,
    live_bytes: u64,
}

/// Chunks and the free stretches in them.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    all: BTreeMap<u64, Chunk>,
    /// Starts of chunks without a live piece.
    empty: BTreeSet<u64>,
    gaps: Gaps,
}

impl Chunks {
    pub(crate) const fn new() -> Self {
        Self { all: BTreeMap::new(), empty: BTreeSet::new(), gaps: Gaps::new() }
    }

    /// A piece out of the chunks there are; `bytes` is a multiple of [`UNIT_BYTES`].
    pub(crate) fn take(&mut self, bytes: u64) -> Option<u64> {
        let address = self.gaps.take(bytes)?;
        self.each_overlap(address, bytes, |chunk, overlap| chunk.live_bytes += overlap);
        Some(address)
    }

    pub(crate) fn give_back(&mut self, address: u64, bytes: u64) {
        self.each_overlap(address, bytes, |chunk, overlap| chunk.live_bytes = chunk.live_bytes.saturating_sub(overlap));
        self.gaps.add(address, bytes);
    }

    pub(crate) fn add_chunk(&mut self, start: u64, bytes: u64) {
        self.all.insert(start, Chunk { bytes, live_bytes: 0 });
        self.empty.insert(start);
        self.gaps.add(start, bytes);
    }

    /// Takes out an empty chunk, if there is one, and returns where it lies and how large it is.
    pub(crate) fn remove_empty(&mut self) -> Option<(u64, u64)> {
        let start = self.empty.pop_first()?;
        let bytes = self.all.remove(&start)?.bytes;
        self.gaps.cut(start, bytes);
        Some((start, bytes))
    }

    /// Calls `act` for each chunk that `bytes` at `address` lie in: neighbours join, so a piece may span several.
    fn each_overlap(&mut self, address: u64, bytes: u64, act: impl Fn(&mut Chunk, u64)) {
        let end = address + bytes;
        let first = self.all.range(..=address).next_back().map_or(address, |(&start, _)| start);
        for (&start, chunk) in self.all.range_mut(first..end) {
            let overlap = end.min(start + chunk.bytes).saturating_sub(address.max(start));
            act(chunk, overlap);
            if chunk.live_bytes == 0 {
                self.empty.insert(start);
            } else {
                self.empty.remove(&start);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_empty_when_all_its_pieces_are_back() {
        let mut chunks = Chunks::new();
        chunks.add_chunk(4096, 4096);
        chunks.add_chunk(8192, 4096);
        let a = chunks.take(3072).unwrap();
        let b = chunks.take(4096).unwrap();
        assert_eq!((a, b), (4096, 4096 + 3072), "the second spans both chunks");
        assert_eq!(chunks.remove_empty(), None);
        chunks.give_back(b, 4096);
        assert_eq!(chunks.remove_empty(), Some((8192, 4096)));
        assert_eq!(chunks.take(4096), None);
        chunks.give_back(a, 3072);
        assert_eq!(chunks.remove_empty(), Some((4096, 4096)));
    }
}
