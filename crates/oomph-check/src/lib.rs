//! Reads Python and points at lines that will cost memory: one rule, one file.
//!
//! A [`Source`] is parsed once, its facts are worked out once (what every name is, which loops and gradient modes a
//! line runs under, what functions return), and every [`Rule`] then asks those facts. Nothing here prints, reads
//! settings from disk or needs torch.

pub mod finding;
pub mod python;
pub mod rule;
pub mod rules;
pub mod source;

pub use finding::{Edit, Evidence, Finding, Fix, Level, Safety};
pub use rule::{Example, Group, Rule};
pub use source::Source;
