//! Hollow runs as experiments: the run of a script on a card that is not there, and what its trace says about other
//! cards.
//!
//! - [`Card`] describes a card; [`cards::CATALOGUE`] lists those that are known by name.
//! - [`Job`] is a script with its interpreter; [`Job::run`] runs it on hollow cards and returns a [`Run`].
//! - [`fit`] judges by replay whether the same requests fit another card.

mod bootstrap;
mod error;
pub mod facts;
pub mod fit;
mod job;
mod library;
mod process;
mod trace;
mod undo;

pub use error::PlanError;
pub use facts::{Facts, OutcomeKind};
pub use job::{Job, Launch, Run, Target};
pub use library::hollow_library;
pub use oomph_card as cards;
pub use oomph_card::{Card, CardError};
pub use trace::{Phase, phase_at};
