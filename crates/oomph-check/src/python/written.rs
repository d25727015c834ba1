//! A tree exactly as it is written: other trees are made plain, and read functions where they are called.

use ruff_python_ast::{ModModule, PySourceType, Stmt, Suite};
use ruff_python_parser::{ParseOptions, Parsed, parse_cells_unchecked, parse_unchecked_source};
use ruff_text_size::TextRange;

use super::{may_nest_deeply, nests_deeply};

/// The statements of a source as they stand in its text.
#[derive(Debug)]
pub(crate) struct Written(Suite);

impl Written {
    /// Those of a script, or of the cells of a notebook where there are any. `None` for what is no Python, or nests
    /// too deep to be walked.
    pub(crate) fn of(text: &str, cells: &[TextRange]) -> Option<Self> {
        let parsed: Parsed<ModModule> = if cells.is_empty() {
            parse_unchecked_source(text, PySourceType::Python)
        } else {
            let options = ParseOptions::from(PySourceType::Ipynb);
            parse_cells_unchecked(text, cells.iter().copied(), &options)
        };
        if may_nest_deeply(&parsed) && nests_deeply(&parsed.syntax().body) {
            // Dropping a tree recurses as deep as it nests.
            std::mem::forget(parsed);
            return None;
        }
        let is_whole = parsed.errors().is_empty();
        is_whole.then(|| Self(parsed.into_suite()))
    }

    /// The statements.
    pub(crate) fn body(&self) -> &[Stmt] {
        &self.0
    }
}
