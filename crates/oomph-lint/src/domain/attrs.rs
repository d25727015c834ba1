//! Attributes by name, in leaves that copies share: of the many attributes of an object or globals of a file, most ways
//! through a program change few.

use std::rc::Rc;

use super::origins::Age;
use super::value::Value;
use crate::ir::Name;

/// Attributes of one leaf.
const LEAF_MAX: usize = 12;

type Leaf = Rc<Vec<(Name, Value)>>;

/// A map that is sorted by name and cheap to copy.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attrs(Vec<Leaf>);

impl Attrs {
    /// The leaf that has a name or would have it, and the place there.
    fn find(&self, name: &str) -> (usize, Result<usize, usize>) {
        let leaf = self.0.partition_point(|leaf| *leaf[0].0 <= *name).saturating_sub(1);
        let place = self.0.get(leaf).map_or(Err(0), |leaf| leaf.binary_search_by(|(known, _)| (**known).cmp(name)));
        (leaf, place)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        match self.find(name) {
            (leaf, Ok(at)) => Some(&self.0[leaf][at].1),
            _ => None,
        }
    }

    pub(crate) fn contains_key(&self, name: &str) -> bool {
        self.find(name).1.is_ok()
    }

    pub(crate) fn insert(&mut self, name: Name, value: Value) {
        match self.find(&name) {
            (leaf, Ok(at)) if self.0[leaf][at].1 == value => {}
            (leaf, Ok(at)) => Rc::make_mut(&mut self.0[leaf])[at].1 = value,
            (_, Err(_)) if self.0.is_empty() => self.0.push(Rc::new(vec![(name, value)])),
            (leaf, Err(at)) => {
                let full = Rc::make_mut(&mut self.0[leaf]);
                full.insert(at, (name, value));
                if full.len() > LEAF_MAX {
                    let rest = full.split_off(LEAF_MAX / 2);
                    self.0.insert(leaf + 1, Rc::new(rest));
                }
            }
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        if let (leaf, Ok(at)) = self.find(name) {
            Rc::make_mut(&mut self.0[leaf]).remove(at);
            if self.0[leaf].is_empty() {
                self.0.remove(leaf);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Names and values, sorted by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Name, &Value)> {
        self.0.iter().flat_map(|leaf| leaf.iter()).map(|(name, value)| (name, value))
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        self.iter().map(|(_, value)| value)
    }

    /// Takes a step along an edge.
    pub(crate) fn age(&mut self, age: Age) {
        for leaf in self.0.iter_mut().filter(|leaf| leaf.iter().any(|(_, value)| value.is_aged_by(age))) {
            Rc::make_mut(leaf).iter_mut().for_each(|(_, value)| value.age(age));
        }
    }

    /// Whether a join with another would add nothing.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|theirs| {
            let (leaf, _) = self.find(&theirs[0].0);
            let covers = |(name, value): &(Name, Value)| self.get(name).is_some_and(|own| own.covers(value));
            self.0.get(leaf).is_some_and(|own| Rc::ptr_eq(own, theirs)) || theirs.iter().all(covers)
        })
    }

    /// Adds what another way here knows; gives whether anything was new.
    pub(crate) fn join(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for theirs in &other.0 {
            let (leaf, _) = self.find(&theirs[0].0);
            if self.0.get(leaf).is_some_and(|own| Rc::ptr_eq(own, theirs)) {
                continue;
            }
            for (name, value) in theirs.iter() {
                changed |= self.join_one(name, value);
            }
        }
        changed
    }

    fn join_one(&mut self, name: &Name, value: &Value) -> bool {
        match self.find(name) {
            (leaf, Ok(at)) => {
                let own = &self.0[leaf][at].1;
                !own.covers(value) && Rc::make_mut(&mut self.0[leaf])[at].1.join(value)
            }
            _ => {
                self.insert(name.clone(), value.clone());
                true
            }
        }
    }
}

impl PartialEq for Attrs {
    fn eq(&self, other: &Self) -> bool {
        let is_alike = self.0.len() == other.0.len()
            && self.0.iter().zip(&other.0).all(|(own, theirs)| Rc::ptr_eq(own, theirs) || own == theirs);
        // The same attributes may be in leaves of other lengths.
        is_alike || self.iter().eq(other.iter())
    }
}

impl Eq for Attrs {}

impl FromIterator<(Name, Value)> for Attrs {
    fn from_iter<I: IntoIterator<Item = (Name, Value)>>(pairs: I) -> Self {
        let mut attrs = Self::default();
        attrs.extend(pairs);
        attrs
    }
}

impl Extend<(Name, Value)> for Attrs {
    fn extend<I: IntoIterator<Item = (Name, Value)>>(&mut self, pairs: I) {
        pairs.into_iter().for_each(|(name, value)| self.insert(name, value));
    }
}

#[cfg(test)]
mod tests {
    use super::Attrs;
    use crate::domain::Value;
    use crate::ir::{Const, Name};

    fn numbered(numbers: impl Iterator<Item = i64>) -> Attrs {
        numbers.map(|number| (Name::from(format!("{number:03}")), Value::constant(Const::Int(number)))).collect()
    }

    #[test]
    fn order_of_insertion_does_not_matter() {
        let (up, down) = (numbered(0..100), numbered((0..100).rev()));
        assert_eq!(up, down);
        assert_eq!(up.iter().count(), 100);
        assert_eq!(up.get("042"), Some(&Value::constant(Const::Int(42))));
    }

    #[test]
    fn joins_add_and_end() {
        let (mut few, all) = (numbered(10..20), numbered(0..100));
        assert!(few.join(&all) && !few.join(&all));
        assert_eq!(few, all);
        few.remove("050");
        assert!(!few.contains_key("050") && few != all);
    }
}
