//! Reports as text, JSON and a page. Nothing is computed here.

pub mod host;
pub mod json;
pub mod log;
pub mod page;
pub mod ranks;
pub mod table;
pub mod text;
