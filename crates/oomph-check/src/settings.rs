//! What the user wants reported: which rules, at which level, in which files.
//!
//! [`Options`] are what somebody wrote, in a `pyproject.toml` or on a command line; [`Settings`] are what follows from
//! all of it together, and what the rest of the crate asks.

mod globs;
mod read;
mod selector;

use std::path::{Path, PathBuf};

pub use globs::Globs;
pub use read::{KEYS, find_table, read};
pub use selector::Selector;
pub(crate) use selector::{did_you_mean, near};

use crate::finding::Level;
use crate::rule::Rule;
use crate::rules;
use crate::selection::{Choice, RuleSet};
use selector::Breadth;

/// Folders and files that hold no code of the project's own, as every Python tool leaves them out.
pub const EXCLUDED: [&str; 28] = [
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".git-rewrite",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pants.d",
    ".pyenv",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "__pypackages__",
    "_build",
    "buck-out",
    "build",
    "dist",
    "env",
    "node_modules",
    "site-packages",
    "venv",
];

/// A level somebody chose for rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Not reported at all.
    Off,
    /// Reported at this level.
    At(Level),
}

/// What one place says: a `[tool.oomph.check]` table, or a command line. All of it is optional.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only these rules.
    pub select: Option<Vec<Selector>>,
    /// These rules too.
    pub extend_select: Vec<Selector>,
    /// Not these rules.
    pub ignore: Vec<Selector>,
    /// Not these rules in files that fit the pattern.
    pub per_file_ignores: Vec<(String, Vec<Selector>)>,
    /// At which level, the later entry winning.
    pub severity: Vec<(Selector, Severity)>,
    /// Files and folders to leave out, in place of [`EXCLUDED`].
    pub exclude: Option<Vec<String>>,
    /// Files and folders to leave out too.
    pub extend_exclude: Vec<String>,
}

/// What is to be done about one rule.
#[derive(Debug, Clone, Copy)]
struct Switch {
    on: bool,
    /// Selected by its name, its group or `all`: opportunities are welcome.
    asked_for: bool,
    severity: Option<Severity>,
}

impl Switch {
    fn choice(self) -> Choice {
        match self.severity {
            _ if !self.on => Choice::Off,
            Some(Severity::Off) => Choice::Off,
            Some(Severity::At(level)) => Choice::At(level),
            None if self.asked_for => Choice::Selected,
            None => Choice::Default,
        }
    }
}

/// What holds for the files of one folder.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Patterns are relative to this folder.
    folder: PathBuf,
    switches: Vec<(&'static str, Switch)>,
    per_file_ignores: Vec<(Globs, Vec<Selector>)>,
    exclude: Globs,
}

impl Settings {
    /// What follows from `layers`, the last of which has the last word, for files under `folder`.
    #[must_use]
    pub fn new(folder: PathBuf, layers: &[&Options], rules: &[&'static Rule]) -> Self {
        let exclude = layers.iter().rev().find_map(|layer| layer.exclude.as_deref());
        let extended = layers.iter().flat_map(|layer| layer.extend_exclude.iter().map(String::as_str));
        let exclude: Vec<&str> = match exclude {
            Some(patterns) => patterns.iter().map(String::as_str).chain(extended).collect(),
            None => EXCLUDED.into_iter().chain(extended).collect(),
        };
        let per_file = layers.iter().flat_map(|layer| &layer.per_file_ignores);
        Self {
            folder,
            switches: rules.iter().map(|rule| (rule.name, switch(rule, layers))).collect(),
            per_file_ignores: per_file.map(|(glob, selectors)| (globs([glob.as_str()]), selectors.clone())).collect(),
            exclude: globs(exclude),
        }
    }

    /// What holds where nobody says anything.
    #[must_use]
    pub fn default_for(rules: &[&'static Rule]) -> Self {
        Self::new(PathBuf::new(), &[], rules)
    }

    /// Which of the `per-file-ignores` patterns a file fits: files that fit the same ones are treated the same.
    pub(crate) fn sparing(&self, file: &Path) -> Vec<usize> {
        let fits = |(_, (globs, _)): &(usize, &(Globs, Vec<Selector>))| globs.fits(file, &self.folder);
        self.per_file_ignores.iter().enumerate().filter(fits).map(|(index, _)| index).collect()
    }

    /// What is to be done about a rule in a file.
    #[must_use]
    pub fn choice(&self, rule: &Rule, file: &Path) -> Choice {
        let covers = |index: &usize| self.per_file_ignores[*index].1.iter().any(|selector| selector.covers(rule));
        let spared = self.sparing(file).iter().any(covers);
        let known = self.switches.iter().find(|(name, _)| *name == rule.name);
        known.filter(|_| !spared).map_or(Choice::Off, |(_, switch)| switch.choice())
    }

    /// The choice for every rule of [`rules::ALL`].
    #[must_use]
    pub fn rule_set(&self, file: &Path) -> RuleSet {
        let choose = |set: RuleSet, rule: &&Rule| set.with(rule.name, self.choice(rule, file));
        rules::ALL.iter().fold(RuleSet::none(), choose)
    }

    /// Whether a file or folder that was come upon, not named, is left out.
    #[must_use]
    pub fn excludes(&self, path: &Path) -> bool {
        self.exclude.fits(path, &self.folder)
    }

    /// Whether a file is left out, or any folder between these settings and it.
    #[must_use]
    pub fn excludes_anywhere(&self, path: &Path) -> bool {
        self.exclude.fits_anywhere(path, &self.folder)
    }
}

/// Patterns that were checked when they were read.
fn globs<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Globs {
    let checked = patterns.into_iter().filter(|pattern| Globs::new([*pattern]).is_ok());
    Globs::new(checked).unwrap_or_else(|_| unreachable!("every pattern was tried by itself"))
}

/// What the layers say about one rule, in turn: within a layer the narrower name wins, and of equals the ignore.
fn switch(rule: &Rule, layers: &[&Options]) -> Switch {
    let by_default = Selector::Default.covers(rule);
    let mut switch = Switch { on: by_default, asked_for: false, severity: None };
    for layer in layers {
        if layer.select.is_some() {
            (switch.on, switch.asked_for) = (false, false);
        }
        let selected: Vec<Selector> = layer.select.iter().flatten().chain(&layer.extend_select).copied().collect();
        for breadth in Breadth::ALL {
            let covering = |selectors: &[Selector]| -> Vec<Selector> {
                let fits = |selector: &&Selector| selector.breadth() == breadth && selector.covers(rule);
                selectors.iter().filter(fits).copied().collect()
            };
            let chosen = covering(&selected);
            if !chosen.is_empty() {
                switch.on = true;
                switch.asked_for |= chosen.iter().any(|selector| *selector != Selector::Default);
            }
            if !covering(&layer.ignore).is_empty() {
                switch.on = false;
            }
            for (selector, severity) in &layer.severity {
                if selector.breadth() == breadth && selector.covers(rule) {
                    switch.severity = Some(*severity);
                    // A level above info makes an opportunity something to speak of unasked.
                    switch.on |= !by_default && matches!(severity, Severity::At(level) if *level > Level::Info);
                }
            }
        }
    }
    switch
}

#[cfg(test)]
mod tests;
