//! What a rule is: its page, its check, its fix.

use serde::Serialize;

use crate::facts::Facts;
use crate::finding::{Level, Safety};
use crate::report::Report;
use crate::size::Size;

/// The kind of mistake a rule is about; pages are grouped by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Keeping the autograd graph alive.
    Graph,
    /// Evaluation and gradient mode.
    GradMode,
    /// Gradients and optimizers.
    Optimizer,
    /// The allocator and its API.
    Allocator,
    /// Handling running out of memory.
    Recovery,
    /// Data, loading, transfer.
    Data,
    /// Several processes or cards.
    Distributed,
    /// Operations and shapes.
    Operations,
    /// Frameworks and notebooks.
    Frameworks,
    /// The file itself, and its comments to oomph.
    File,
}

impl Group {
    /// All groups in order.
    pub const ALL: [Self; 10] = [
        Self::Graph,
        Self::GradMode,
        Self::Optimizer,
        Self::Allocator,
        Self::Recovery,
        Self::Data,
        Self::Distributed,
        Self::Operations,
        Self::Frameworks,
        Self::File,
    ];

    /// What people type.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::GradMode => "grad-mode",
            Self::Optimizer => "optimizer",
            Self::Allocator => "allocator",
            Self::Recovery => "recovery",
            Self::Data => "data",
            Self::Distributed => "distributed",
            Self::Operations => "operations",
            Self::Frameworks => "frameworks",
            Self::File => "file",
        }
    }

    /// What it is about: the heading above its rules.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Graph => "Keeping the autograd graph alive",
            Self::GradMode => "Evaluation and gradient mode",
            Self::Optimizer => "Gradients and optimizers",
            Self::Allocator => "The allocator and its API",
            Self::Recovery => "Handling running out of memory",
            Self::Data => "Data, loading, transfer",
            Self::Distributed => "Several processes or cards",
            Self::Operations => "Operations and shapes",
            Self::Frameworks => "Frameworks and notebooks",
            Self::File => "The file itself, and its comments to oomph",
        }
    }
}

/// Code that shows a rule: every one is a test.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// Code on which the rule fires.
    pub bad: &'static str,
    /// The same job done right: the rule is silent.
    pub good: &'static str,
}

/// A memory bug oomph knows. One file under `rules/` holds one of these, and one beside it its programs.
#[derive(Debug)]
pub struct Rule {
    /// What people type: kebab case, says what is wrong.
    pub name: &'static str,
    /// What kind of mistake it is.
    pub group: Group,
    /// What it usually costs; the level follows from that.
    pub size: Size,
    /// Whether it is about what could be had, not about a mistake: such rules are off unless selected.
    pub is_opportunity: bool,
    /// What `--fix` can do, if anything.
    pub fix: Option<Safety>,
    /// One sentence: what the code does wrong.
    pub summary: &'static str,
    /// Why it costs memory.
    pub why: &'static str,
    /// How much, as arithmetic or as measured.
    pub cost: &'static str,
    /// What to write instead, in words.
    pub instead: &'static str,
    /// When the code is right as it is.
    pub when_not: &'static str,
    /// Programs that show it, in the Python file beside the rule's. A line before each says what it is: `# --- bad`
    /// fires the rule, `# --- good` is the same job done right, `# --- silent` a trap on which it must not fire.
    pub programs: &'static str,
    /// Finds every place in a file.
    pub check: fn(&Facts<'_>, &mut Report),
}

impl Rule {
    /// The level at which it usually reports; rules of [`Level::Info`] are off unless selected.
    #[must_use]
    pub fn level(&self) -> Level {
        if self.is_opportunity { Level::Info } else { self.size.level() }
    }

    /// Wrong and right code, at least one pair.
    pub fn examples(&self) -> impl Iterator<Item = Example> {
        self.programs_called("bad").zip(self.programs_called("good")).map(|(bad, good)| Example { bad, good })
    }

    /// Further code on which the rule must stay silent: the traps.
    pub fn silent_on(&self) -> impl Iterator<Item = &'static str> {
        self.programs_called("silent")
    }

    fn programs_called(&self, what: &'static str) -> impl Iterator<Item = &'static str> {
        let parts = self.programs.split("# --- ").filter_map(|part| part.split_once('\n'));
        parts.filter(move |(found, _)| *found == what).map(|(_, program)| program)
    }
}
