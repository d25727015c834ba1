//! One file a verb; the list of them is [`crate::args::Verb`].

pub(crate) mod completions;
pub(crate) mod doc;
pub(crate) mod explain;
pub(crate) mod man;
pub(crate) mod replay;
