//! Reads Python and points at lines that will cost memory: one rule, one file.
//!
//! A [`Source`] is parsed once, its facts are worked out once (what every name is, which loops and gradient modes a
//! line runs under, what functions return), and every [`Rule`] then asks those facts. Nothing here prints, reads
//! settings from disk or needs torch.

pub mod analysis;
mod beside;
pub mod callbacks;
mod causes;
mod copies;
mod detaching;
mod edits;
mod envelope;
mod error;
pub mod facts;
mod file_rules;
pub mod finding;
pub mod fixes;
mod jupyter;
mod lint;
mod loaded;
mod page;
mod project;
mod published;
pub mod python;
pub mod questions;
pub mod render;
mod report;
pub mod requirements;
pub mod rule;
pub mod rules;
mod saved;
mod selection;
pub mod settings;
mod size;
pub mod source;
mod suppress;
pub mod uses;
mod wrapping;

pub use envelope::Envelope;
pub use error::Error;
pub use facts::{Effect, Facts, FunctionKind, Loop, Turn};
pub use file_rules::{FILE_RULES, catalogue};
pub use finding::{Edit, Evidence, Finding, Fix, Level, Safety};
pub use lint::{Checked, Choices, lint};
pub use project::{Project, check};
pub use report::{Draft, Report};
pub use requirements::TorchVersions;
pub use rule::{Example, Group, Rule};
pub use selection::{Choice, RuleSet, Selection};
pub use size::{Amount, Course, Frequency, Size};
pub use source::{Kind, Position, Source};
pub use suppress::ignore_edit;
