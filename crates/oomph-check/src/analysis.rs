//! What Python code does, as far as it can be told without running it.
//!
//! - `outline`: what a file defines and imports, and how its names are used.
//! - `tables`: what the files of a project know of each other.
//! - `walk`: abstract interpretation of every body, in the order it would run.
//! - `events`: what the walk leaves behind, for rules to query through [`crate::Facts`].

mod arguments;
pub(crate) mod batches;
mod binding;
pub(crate) mod bindings;
pub(crate) mod branches;
mod calls;
mod construct;
mod ducks;
mod effects;
mod entry;
mod env;
pub mod events;
mod exprs;
pub mod forks;
pub mod freezing;
mod given;
pub(crate) mod guesses;
pub(crate) mod known;
mod libraries;
mod links;
mod loaders;
mod lookup;
mod methods;
pub mod names;
pub(crate) mod operations;
pub mod outline;
mod recording;
mod run;
pub(crate) mod saving;
mod settings;
mod sites;
mod spreading;
mod stmts;
pub mod tables;
pub mod value;
mod walk;
pub mod writes;

pub(crate) use run::analyse;
