//! Hollow runs as experiments: one script under given conditions in, traces and facts out; which cards it fits.
//!
//! - [`Job`] is a script with its interpreter; [`Job::run`] runs it on hollow cards and returns a [`Run`].
//! - [`Plan::make`] asks everything there is to ask about a job: every card by name, every rank, what it takes where
//!   there is room, the least it runs in.
//! - [`fit`] judges by replay whether the same requests fit another card.
//! - [`allocator`] chooses settings of PyTorch's allocator by replay of an earlier run.
//! - [`search`] finds the [`remedies`] that make a job fit, by hollow runs with them.
//! - [`Forks`] lets the runs of a search share the imports of the script.
//! - [`largest`] finds the largest batch, or value of another option, that fits.
//! - [`values`] decides whether a run is repeated with values worked out on the host.
//! - [`whole_loops`] decides whether it is repeated with loops run to their end.
//! - [`host`] says what the job takes of the host's memory, also where it uses no card.
//! - [`promise`] keeps what a plan said, for the real run to be compared with.
//! - [`Card`] describes a card; [`cards::CATALOGUE`] lists those that are known by name.

pub mod allocator;
mod environment;
mod error;
pub mod fit;
mod follow;
mod forks;
mod growth;
pub mod host;
mod job;
pub mod largest;
mod numbers;
mod plan;
pub mod promise;
pub mod remedies;
mod run;
pub mod search;
mod seen;
pub mod survey;
pub mod values;
pub mod whole_loops;

pub use error::PlanError;
pub use follow::Progress;
pub use forks::Forks;
pub use growth::{Growth, ToCome};
pub use job::{Job, Launch};
pub use oomph_card as cards;
pub use oomph_card::{Card, CardError};
pub use oomph_job::facts::OutcomeKind;
pub use oomph_job::{Command, Facts, Phase, Remedied, Target, facts, phase_at};
pub use plan::{Peaks, Plan, Question, Ranks, Trial, fullest, peaks_by_device};
pub use run::{HostRun, Process, Run};
pub use seen::{Seen, seen};
