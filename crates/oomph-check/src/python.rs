//! The one door to ruff's crates: rules and analyses see Python through what is named here.
//!
//! Ruff's library API is unstable; when it moves, this file and nothing else is to move with it.

pub use ruff_python_ast as ast;
pub use ruff_text_size::{Ranged, TextLen, TextRange, TextSize};
