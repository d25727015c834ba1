//! From a [`crate::case::Case`] to what it shows. Each analysis is one file and knows nothing of the others.

pub mod fragmentation;
pub mod lines;
pub mod modules;
pub mod outside;
pub mod peak;
pub mod retention;
pub mod shortage;
