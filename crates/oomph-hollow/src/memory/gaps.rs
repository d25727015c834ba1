//! Free stretches of addresses.

use std::collections::{BTreeMap, BTreeSet};

/// Free stretches of addresses, found by size and by address in logarithmic time.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    by_start: BTreeMap<u64, u64>,
    by_size: BTreeSet<(u64, u64)>,
}

impl Gaps {
    pub(crate) const fn new() -> Self {
        Self { by_start: BTreeMap::new(), by_size: BTreeSet::new() }
    }

    /// Takes `bytes` from the start of the smallest gap that holds them.
    pub(crate) fn take(&mut self, bytes: u64) -> Option<u64> {
        let &(gap_bytes, start) = self.by_size.range((bytes, 0)..).next()?;
        self.remove_gap(start, gap_bytes);
        self.insert_gap(start + bytes, gap_bytes - bytes);
        Some(start)
    }

    /// Takes `bytes` from the start of the lowest gap that holds them. Looks at every gap below it.
    pub(crate) fn take_lowest(&mut self, bytes: u64) -> Option<u64> {
        let (&start, &gap_bytes) = self.by_start.iter().find(|&(_, &gap_bytes)| gap_bytes >= bytes)?;
        self.remove_gap(start, gap_bytes);
        self.insert_gap(start + bytes, gap_bytes - bytes);
        Some(start)
    }

    /// Whether this is the one gap, and all that lies there is free.
    pub(crate) fn is_all(&self, start: u64, bytes: u64) -> bool {
        self.by_start.get(&start) == Some(&bytes)
    }

    /// Makes addresses free, joined to the gaps beside them.
    pub(crate) fn add(&mut self, start: u64, bytes: u64) {
        let (mut from, mut to) = (start, start + bytes);
        if let Some((&left, &left_bytes)) = self.by_start.range(..start).next_back()
            && left + left_bytes == start
        {
            self.remove_gap(left, left_bytes);
            from = left;
        }
        if let Some(&right_bytes) = self.by_start.get(&to) {
            self.remove_gap(to, right_bytes);
            to += right_bytes;
        }
        self.insert_gap(from, to - from);
    }

    /// Takes away addresses that lie in one gap.
    pub(crate) fn cut(&mut self, start: u64, bytes: u64) {
        if let Some((&gap, &gap_bytes)) = self.by_start.range(..=start).next_back()
            && start + bytes <= gap + gap_bytes
        {
            self.remove_gap(gap, gap_bytes);
            self.insert_gap(gap, start - gap);
            self.insert_gap(start + bytes, gap + gap_bytes - start - bytes);
        }
    }

    fn insert_gap(&mut self, start: u64, bytes: u64) {
        if bytes > 0 {
            self.by_start.insert(start, bytes);
            self.by_size.insert((bytes, start));
        }
    }

    fn remove_gap(&mut self, start: u64, bytes: u64) {
        self.by_start.remove(&start);
        self.by_size.remove(&(bytes, start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_neighbours_become_one_gap() {
        let mut gaps = Gaps::new();
        gaps.add(0, 10);
        gaps.add(20, 10);
        assert_eq!(gaps.take(30), None);
        gaps.add(10, 10);
        assert_eq!(gaps.take(30), Some(0));
        assert_eq!(gaps.take(1), None);
    }

    #[test]
    fn a_stretch_can_be_cut_out() {
        let mut gaps = Gaps::new();
        gaps.add(0, 100);
        gaps.cut(40, 20);
        assert_eq!(gaps.take(41), None);
        assert_eq!(gaps.take(40), Some(0));
        assert_eq!(gaps.take(40), Some(60));
    }

    #[test]
    fn gaps_are_found_by_size_and_from_below() {
        let gaps = || {
            let mut gaps = Gaps::new();
            gaps.add(0, 20);
            gaps.add(30, 10);
            gaps.add(50, 30);
            gaps
        };
        assert_eq!(gaps().take(5), Some(30));
        assert_eq!(gaps().take_lowest(5), Some(0));
        assert_eq!(gaps().take_lowest(25), Some(50));
    }
}
