//! Says why: analyses from a timeline to a finding; text, JSON and HTML renderings hold no analysis.
//!
//! [`explain`] reads a trace for one moment and returns a [`Report`]: the [`verdict`] with its proof, who held the
//! peak, what is kept from step to step, how the segments were filled. Renderers turn a report into text, JSON or a
//! page; they compute nothing.

pub mod analyses;
pub mod attribution;
pub mod bytes;
pub mod case;
pub mod category;
mod error;
pub mod forecast;
pub mod host;
pub mod html;
pub mod log;
pub mod proof;
pub mod ranks;
pub mod render;
pub mod report;
pub mod source;
pub mod steps;
pub mod verdict;

pub use case::{Case, Options};
pub use error::ExplainError;
pub use report::{Kept, Report, explain};
