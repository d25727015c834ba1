//! Starts the user's program and stands beside it: its environment, what is loaded into it, its private layer of
//! files, its children, signals.
//!
//! - [`Command`] is what the user wants to run.
//! - [`Workspace`] is the private folder of one job; it is removed when the job is over.
//! - [`Layer`] keeps what the job writes away from the user's files.
//! - [`Program`] is what to start; [`Program::run`] runs it to its end, or to that of whoever waits for it.
//! - [`Standing`] is a program that waits where its own work begins, and forks one run after another from there.
//! - [`Facts`] are what a watched process told; [`complete`] puts them into the trace of its memory.
//! - [`package`] is the Python that runs inside; [`Library`] says where the libraries are that are loaded into it.

mod command;
mod completion;
mod error;
pub mod facts;
mod family;
mod guard;
pub mod host;
mod host_facts;
mod input;
pub mod jobs;
mod layer;
mod library;
pub mod package;
mod process;
pub mod real;
mod recorded;
mod remedied;
mod standing;
mod stat;
mod variables;
mod workspace;

pub use command::{Command, Target};
pub use completion::{Phase, complete, phase_at};
pub use error::JobError;
pub use facts::{Facts, Watched};
pub use layer::{Layer, Stopped};
pub use library::Library;
pub use process::{Ended, Program, Watch, stop_signal};
pub use recorded::{Recorded, category_of};
pub use remedied::Remedied;
pub use standing::Standing;
pub use variables::Variables;
pub use workspace::Workspace;
