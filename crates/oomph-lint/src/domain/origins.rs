//! Small sorted sets: where graphs begin, and what a value was read from.

/// More entries than this are not told apart.
const ENTRIES_MAX: usize = 12;

/// Where the graph of a value begins, and around which loops it was carried since.
///
/// An entry is the number of a site and a set of loops, one bit for each depth of nesting.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Origins(Vec<(u32, u16)>);

impl Origins {
    /// One site, fresh.
    pub(crate) fn at(site: u32) -> Self {
        Self(vec![(site, 0)])
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The sites.
    pub(crate) fn sites(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().map(|(site, _)| *site)
    }

    /// The loops around which what began at `site` was carried; none for a fresh or other graph.
    pub(crate) fn carried(&self, site: u32) -> u16 {
        self.0.iter().find(|(known, _)| *known == site).map_or(0, |(_, loops)| *loops)
    }

    /// Whether any part came around a loop.
    pub(crate) fn has_carried(&self) -> bool {
        self.0.iter().any(|(_, loops)| *loops != 0)
    }

    /// Adds all of another set; gives whether anything was new.
    pub(crate) fn join(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for &(site, loops) in &other.0 {
            match self.0.binary_search_by_key(&site, |(known, _)| *known) {
                Ok(at) => {
                    changed |= self.0[at].1 | loops != self.0[at].1;
                    self.0[at].1 |= loops;
                }
                Err(at) if self.0.len() < ENTRIES_MAX => {
                    self.0.insert(at, (site, loops));
                    changed = true;
                }
                Err(_) => {}
            }
        }
        changed
    }

    /// Whether a join with another set would add nothing.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|(site, loops)| match self.0.binary_search_by_key(site, |(known, _)| *known) {
            Ok(at) => self.0[at].1 | loops == self.0[at].1,
            Err(_) => self.0.len() >= ENTRIES_MAX,
        })
    }

    /// Whether a step along an edge changes anything.
    pub(crate) fn is_aged_by(&self, age: Age) -> bool {
        self.0.iter().any(|(_, loops)| age.of(*loops) != *loops)
    }

    /// Takes a step along an edge.
    pub(crate) fn age(&mut self, age: Age) {
        self.0.iter_mut().for_each(|(_, loops)| *loops = age.of(*loops));
    }
}

/// What a step along an edge does to graphs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Age {
    /// They are carried around the loop at a depth.
    Carry(usize),
    /// Loops at a depth and below are forgotten: they have been left.
    Leave(usize),
}

impl Age {
    fn of(self, loops: u16) -> u16 {
        match self {
            Self::Carry(depth) => loops | 1 << depth.min(15),
            Self::Leave(depth) => loops & ((1 << depth.min(15)) - 1),
        }
    }
}

/// A small sorted set of numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Tags(Vec<u32>);

impl Tags {
    /// Its members.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// Whether a join with another set would add nothing.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.0.len() >= ENTRIES_MAX || other.iter().all(|tag| self.0.binary_search(&tag).is_ok())
    }

    /// Adds a member; gives whether it is new.
    pub(crate) fn insert(&mut self, tag: u32) -> bool {
        match self.0.binary_search(&tag) {
            Err(at) if self.0.len() < ENTRIES_MAX => {
                self.0.insert(at, tag);
                true
            }
            _ => false,
        }
    }

    /// Adds all of another set; gives whether anything was new.
    pub(crate) fn join(&mut self, other: &Self) -> bool {
        other.iter().fold(false, |changed, tag| self.insert(tag) | changed)
    }
}

#[cfg(test)]
mod tests {
    use super::{Age, Origins};

    #[test]
    fn what_came_around_a_loop_is_told_from_what_is_fresh() {
        let mut origins = Origins::at(3);
        origins.age(Age::Carry(1));
        assert_eq!(origins.carried(3), 0b10);
        origins.age(Age::Leave(1));
        assert!(!origins.has_carried() && !origins.is_aged_by(Age::Leave(1)));
    }

    #[test]
    fn joins_end() {
        let mut all = Origins::default();
        for site in 0..100 {
            all.join(&Origins::at(site));
        }
        assert!(!all.join(&Origins::at(1000)));
    }
}
