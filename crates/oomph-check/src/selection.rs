//! Which rules run on which file, and how loud.

use crate::finding::{Finding, Level};
use crate::rule::Rule;
use crate::rules::ALL;

/// Whether a rule runs, and at which level its findings are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// It does not run.
    Off,
    /// It runs because it is on by default: findings it calls opportunities are left out.
    Default,
    /// It runs because someone asked for it: everything is reported.
    Selected,
    /// It runs, and everything is reported at this level.
    At(Level),
}

/// A choice for every rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleSet {
    /// One for each of [`ALL`], in that order.
    choices: Vec<Choice>,
}

impl RuleSet {
    /// What runs when nobody chose: everything but opportunities and what costs little.
    #[must_use]
    pub fn defaults() -> Self {
        let choice = |rule: &&Rule| if rule.level() == Level::Info { Choice::Off } else { Choice::Default };
        Self { choices: ALL.iter().map(choice).collect() }
    }

    /// Every rule.
    #[must_use]
    pub fn all() -> Self {
        Self { choices: vec![Choice::Selected; ALL.len()] }
    }

    /// No rule.
    #[must_use]
    pub fn none() -> Self {
        Self { choices: vec![Choice::Off; ALL.len()] }
    }

    /// The same, but for one rule; an unknown name changes nothing.
    #[must_use]
    pub fn with(mut self, name: &str, choice: Choice) -> Self {
        if let Some(index) = ALL.iter().position(|rule| rule.name == name) {
            self.choices[index] = choice;
        }
        self
    }

    /// The choice for a rule; unknown names are off.
    #[must_use]
    pub fn choice(&self, name: &str) -> Choice {
        let index = ALL.iter().position(|rule| rule.name == name);
        index.map_or(Choice::Off, |index| self.choices[index])
    }

    /// The rules that run, each with its choice.
    pub(crate) fn running(&self) -> impl Iterator<Item = (&'static Rule, Choice)> + '_ {
        let pairs = ALL.iter().copied().zip(self.choices.iter().copied());
        pairs.filter(|(_, choice)| *choice != Choice::Off)
    }
}

impl Choice {
    /// What becomes of a finding under this choice.
    pub(crate) fn apply(self, mut finding: Finding) -> Option<Finding> {
        match self {
            Self::Off => None,
            Self::Default => (finding.level != Level::Info).then_some(finding),
            Self::Selected => Some(finding),
            Self::At(level) => {
                finding.level = level;
                Some(finding)
            }
        }
    }
}

/// The rule set of every file of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    sets: Vec<RuleSet>,
    /// Which of `sets` each file has; files past the end have the first.
    of_file: Vec<usize>,
}

impl Selection {
    /// The same rules for every file.
    #[must_use]
    pub fn same(set: RuleSet) -> Self {
        Self { sets: vec![set], of_file: Vec::new() }
    }

    /// `of_file[i]` says which of `sets` the project's file `i` has; the first where that names none.
    #[must_use]
    pub fn per_file(sets: Vec<RuleSet>, of_file: Vec<usize>) -> Self {
        let sets = if sets.is_empty() { vec![RuleSet::defaults()] } else { sets };
        Self { sets, of_file }
    }

    /// The rules of a file.
    #[must_use]
    pub fn of(&self, file: usize) -> &RuleSet {
        let set = self.of_file.get(file).copied().unwrap_or(0);
        self.sets.get(set).unwrap_or(&self.sets[0])
    }
}
