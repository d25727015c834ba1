//! What can go wrong in this crate.

use thiserror::Error;

/// Every error of `oomph-heap`; each names the place and the way out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HeapError {
    /// A key PyTorch does not know.
    #[error("allocator settings: unknown key `{key}`; known keys are {known}")]
    UnknownKey {
        /// The key as written.
        key: String,
        /// The keys PyTorch 2.11 knows, separated by commas.
        known: String,
    },
    /// The text ends where a value should stand.
    #[error("allocator settings: `{key}` lacks a value; write `{key}:{example}`")]
    MissingValue {
        /// The key concerned.
        key: String,
        /// A value that would do.
        example: &'static str,
    },
    /// A value PyTorch refuses.
    #[error("allocator settings: `{key}:{value}` is refused, {rule}")]
    BadValue {
        /// The key concerned.
        key: String,
        /// The value as written.
        value: String,
        /// What PyTorch accepts.
        rule: String,
    },
    /// No policy has this name.
    #[error("no placement policy is called `{name}`; there are {known}")]
    UnknownPolicy {
        /// The name asked for.
        name: String,
        /// The names there are, separated by commas.
        known: String,
    },
}
