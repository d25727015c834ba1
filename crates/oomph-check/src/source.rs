//! A Python file, a notebook or text from an editor, parsed, with its facts.

/// One file to check: its text, its tree and what is known about it.
#[derive(Debug)]
pub struct Source {
    /// The text as it is on disk; for a notebook, the code of its cells one after another.
    pub text: String,
}
