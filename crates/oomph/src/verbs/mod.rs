//! One file a verb; the list of them is [`crate::args::Verb`].

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod doc;
pub(crate) mod explain;
pub(crate) mod lsp;
pub(crate) mod man;
pub(crate) mod plan;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod top;

/// What a verb answered, where its answer is an exit code too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Done; or, of a question, yes.
    Yes,
    /// The answer is no: it does not fit, or there are findings.
    No,
    /// Part of it could not be done; the errors have been told.
    Failed,
    /// What a script of the user's ended with.
    Script(u8),
    /// The signal that ended a script of the user's.
    Signal(i32),
}
