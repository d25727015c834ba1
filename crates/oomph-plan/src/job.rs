//! A command and everything about how it is to be planned.

use oomph_job::Command;

use crate::forks::Forks;
use crate::remedies::RemedyChoice;
use crate::values::Values;
use crate::whole_loops::WholeLoops;

/// How many processes the job has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Processes on this machine; `None` if the job is not distributed.
    pub processes_per_node: Option<u32>,
    /// Machines.
    pub nodes: u32,
    /// Which process of the whole job is planned.
    pub rank: u32,
}

impl Launch {
    /// Processes of the whole job; 0 if it is not distributed.
    #[must_use]
    pub fn world_size(&self) -> u32 {
        self.processes_per_node.unwrap_or(0) * self.nodes.max(1)
    }
}

/// A command, and how it is to be planned.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent setting")]
pub struct Job {
    /// What is run.
    pub command: Command,
    /// Optimizer steps after which the run is over, 0 for all; without, loops end once memory repeats.
    pub steps: Option<u32>,
    /// Batches after which the run is over, likewise.
    pub batches: Option<u32>,
    /// Its processes.
    pub launch: Launch,
    /// Whether every process that a launcher starts is planned, not the first alone.
    pub has_all_ranks: bool,
    /// Whether what the script prints is passed on to stderr.
    pub show_output: bool,
    /// What the job may write, at most.
    pub disk_limit_bytes: u64,
    /// What is put into it to make it take less.
    pub remedies: Vec<RemedyChoice>,
    /// Settings of PyTorch's allocator, in place of the user's.
    pub allocator: Option<String>,
    /// Whether its processes tell what they are made of, for whoever looks for remedies.
    pub is_surveyed: bool,
    /// What may be spent on values that nobody knows.
    pub values: Values,
    /// Loops of which the script needs all iterations, as far as its runs have shown.
    pub whole_loops: WholeLoops,
    /// Whether runs that differ in remedies and cards alone share what comes before the script's own work.
    pub forks: Forks,
    /// Whether the script uses no card, and runs as it is for the host's memory alone.
    pub is_host_only: bool,
    /// Whether such a run is about the line that keeps the host's memory growing, and ends once it is found.
    pub seeks_growth: bool,
    /// Whether a run is given up once the job trains without a card.
    pub needs_card: bool,
}
