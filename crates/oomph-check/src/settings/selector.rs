//! Names that settings and ignore comments use for one rule or several: `retain-graph-true`, `graph`, `default`, `all`.

use crate::finding::Level;
use crate::rule::{Group, Rule};

/// One rule, or several by one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selector {
    /// `all`: every rule, opportunities too.
    All,
    /// `default`: every rule that speaks unasked.
    Default,
    /// A group such as `grad-mode`.
    Group(Group),
    /// A rule by its name.
    Rule(&'static str),
}

/// How much a selector names at once; the narrower one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Breadth {
    /// `all` and `default`.
    Everything,
    /// A group.
    Group,
    /// One rule.
    Rule,
}

impl Breadth {
    /// From the widest to the narrowest.
    pub(super) const ALL: [Self; 3] = [Self::Everything, Self::Group, Self::Rule];
}

impl Selector {
    /// What `name` stands for; case and `_` for `-` do not matter. An unknown name gives the names most like it.
    ///
    /// # Errors
    /// No rule and no group has that name.
    pub fn parse(name: &str, rules: &[&'static Rule]) -> Result<Self, Vec<&'static str>> {
        let wanted = name.trim().to_lowercase().replace('_', "-");
        match wanted.as_str() {
            "all" => return Ok(Self::All),
            "default" => return Ok(Self::Default),
            _ => {}
        }
        if let Some(group) = Group::ALL.into_iter().find(|group| group.name() == wanted) {
            return Ok(Self::Group(group));
        }
        if let Some(rule) = rules.iter().find(|rule| rule.name == wanted) {
            return Ok(Self::Rule(rule.name));
        }
        Err(similar(&wanted, rules))
    }

    /// Whether it stands for this rule.
    #[must_use]
    pub fn covers(self, rule: &Rule) -> bool {
        match self {
            Self::All => true,
            Self::Default => rule.level() > Level::Info,
            Self::Group(group) => rule.group == group,
            Self::Rule(name) => rule.name == name,
        }
    }

    pub(super) fn breadth(self) -> Breadth {
        match self {
            Self::All | Self::Default => Breadth::Everything,
            Self::Group(_) => Breadth::Group,
            Self::Rule(_) => Breadth::Rule,
        }
    }
}

/// The names most like `wanted`, best first.
fn similar(wanted: &str, rules: &[&'static Rule]) -> Vec<&'static str> {
    let known = ["all", "default"].into_iter();
    let known = known.chain(Group::ALL.map(Group::name)).chain(rules.iter().map(|rule| rule.name));
    near(wanted, known)
}

/// Those of `known` that somebody who typed `wanted` may have meant: at most three, best first.
pub(crate) fn near(wanted: &str, known: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let is_like =
        |distance: usize, name: &str| distance * 3 <= name.len().max(3) || (wanted.len() > 3 && name.contains(wanted));
    let mut scored: Vec<(usize, &str)> = known
        .map(|name| (strsim::damerau_levenshtein(wanted, name), name))
        .filter(|&(distance, name)| is_like(distance, name))
        .collect();
    scored.sort_unstable();
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

/// "did you mean a or b?", or `otherwise` where nothing is like it.
pub(crate) fn did_you_mean(similar: &[&str], otherwise: &str) -> String {
    if similar.is_empty() { otherwise.to_owned() } else { format!("did you mean {}?", similar.join(" or ")) }
}
