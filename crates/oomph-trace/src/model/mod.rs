//! The types a [`crate::Trace`] is made of.

pub(crate) mod event;
pub(crate) mod extra;
pub(crate) mod mark;
pub(crate) mod segment;
pub(crate) mod settings;
pub(crate) mod stack;
pub(crate) mod trace;
