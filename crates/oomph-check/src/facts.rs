//! What is known about one file.

use crate::source::Source;

/// Everything a rule may ask about a file.
#[derive(Debug)]
pub struct Facts<'a> {
    /// The file.
    pub source: &'a Source,
}

impl<'a> Facts<'a> {
    pub(crate) fn of(source: &'a Source) -> Self {
        Self { source }
    }
}
