//! Every rule, one file each.

use crate::rule::Rule;

/// All rules, by group and then by name.
pub static ALL: &[&Rule] = &[];

/// The rule of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Rule> {
    ALL.iter().copied().find(|rule| rule.name == name)
}
