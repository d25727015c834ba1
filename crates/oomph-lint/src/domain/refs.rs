//! The objects a value may be: a small sorted set that needs no allocation, for values are copied all the time.

use super::value::ObjId;

/// More objects than this are not told apart.
const REFS_MAX: usize = 6;

/// Objects, sorted.
#[derive(Clone, Copy, Default)]
pub(crate) struct Refs {
    ids: [ObjId; REFS_MAX],
    count: u8,
}

/// What became of an object that was to be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inserted {
    /// It was not there.
    New,
    /// It was there.
    Known,
    /// It is not there and there is no room.
    Full,
}

impl Refs {
    /// No object.
    pub(crate) const NONE: Self = Self { ids: [0; REFS_MAX], count: 0 };

    /// One object.
    pub(crate) fn one(id: ObjId) -> Self {
        let mut refs = Self::NONE;
        (refs.ids[0], refs.count) = (id, 1);
        refs
    }

    /// Its members.
    pub(crate) fn as_slice(&self) -> &[ObjId] {
        &self.ids[..usize::from(self.count)]
    }

    /// Whether a join with another set would add nothing: what has no room is no news to a value that may be anything.
    pub(crate) fn covers(&self, other: &Self, is_unknown: bool) -> bool {
        let is_full = usize::from(self.count) == REFS_MAX && is_unknown;
        other.iter().all(|id| is_full || self.contains(id))
    }

    /// Adds an object where there is room.
    pub(crate) fn insert(&mut self, id: ObjId) -> Inserted {
        let Err(at) = self.as_slice().binary_search(&id) else { return Inserted::Known };
        let count = usize::from(self.count);
        if count == REFS_MAX {
            return Inserted::Full;
        }
        self.ids.copy_within(at..count, at + 1);
        self.ids[at] = id;
        self.count += 1;
        Inserted::New
    }

    /// Keeps those that pass a test.
    pub(crate) fn retain(&mut self, keep: impl Fn(&ObjId) -> bool) {
        let before = *self;
        *self = Self::NONE;
        for id in before.iter().filter(|id| keep(id)) {
            self.insert(*id);
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        *self = Self::NONE;
    }
}

impl std::ops::Deref for Refs {
    type Target = [ObjId];

    fn deref(&self) -> &[ObjId] {
        self.as_slice()
    }
}

impl PartialEq for Refs {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Refs {}

impl std::fmt::Debug for Refs {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_slice().fmt(formatter)
    }
}

impl<'a> IntoIterator for &'a Refs {
    type Item = &'a ObjId;
    type IntoIter = std::slice::Iter<'a, ObjId>;

    fn into_iter(self) -> Self::IntoIter {
        self.as_slice().iter()
    }
}

#[cfg(test)]
mod tests {
    use super::{Inserted, Refs};

    #[test]
    fn members_are_sorted_and_bounded() {
        let mut refs = Refs::one(5);
        assert_eq!((refs.insert(3), refs.insert(5)), (Inserted::New, Inserted::Known));
        (10..14).for_each(|id| {
            refs.insert(id);
        });
        assert_eq!(refs.insert(4), Inserted::Full);
        refs.retain(|id| *id < 11);
        assert_eq!(refs.as_slice(), [3, 5, 10]);
    }
}
