//! The only door to ruff's crates: files, notebooks, byte order marks, places as people count them.

use ruff_notebook::Notebook;
use ruff_python_ast::PySourceType;
use ruff_python_parser::parse_unchecked_source;
use ruff_source_file::LineIndex;
use ruff_text_size::TextSize;

/// The tree's nodes; only `ir` reads them.
pub(crate) use ruff_python_ast as tree;
pub(crate) use ruff_text_size::{Ranged, TextRange};

/// Words without which a text has nothing to do with torch.
const TORCH_WORDS: &[&str] =
    &["torch", "lightning", "transformers", "accelerate", "zero_grad", ".backward(", ".eval()", "state_dict"];

/// A span of a file's text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Span {
    /// The first byte.
    pub(crate) start: u32,
    /// The byte after the last.
    pub(crate) end: u32,
}

impl From<TextRange> for Span {
    fn from(range: TextRange) -> Self {
        Self { start: range.start().to_u32(), end: range.end().to_u32() }
    }
}

/// A place as people count: from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Position {
    /// The cell of a notebook, all kinds of cells counted.
    pub(crate) cell: Option<usize>,
    /// The line; within the cell for a notebook.
    pub(crate) line: usize,
    /// The column.
    pub(crate) column: usize,
}

/// A file that could not be read as Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unreadable(pub(crate) String);

/// One file: its text, its tree, and where its lines are.
#[derive(Debug)]
pub(crate) struct Source {
    /// What the user calls it.
    pub(crate) name: String,
    /// Python text; for a notebook, the code of its cells one after another.
    pub(crate) text: String,
    cells: Vec<(u32, usize)>,
    lines: LineIndex,
    body: Vec<tree::Stmt>,
}

impl Source {
    /// Reads a script or, by its name, a notebook. Python with mistakes gives what could be parsed.
    ///
    /// # Errors
    ///
    /// When a notebook is no notebook.
    pub(crate) fn read(name: &str, text: &str) -> Result<Self, Unreadable> {
        if !std::path::Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("ipynb")) {
            let text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
            return Ok(Self::parse(name, text, PySourceType::Python, Vec::new()));
        }
        let notebook = Notebook::from_source_code(text).map_err(|error| Unreadable(error.to_string()))?;
        if !notebook.is_python_notebook() {
            return Ok(Self::parse(name, String::new(), PySourceType::Ipynb, Vec::new()));
        }
        let numbers = notebook.cells().iter().enumerate().filter(|(_, cell)| cell.is_code_cell()).map(|(at, _)| at + 1);
        let starts = notebook.cell_offsets().ranges().map(|range| range.start().to_u32());
        let cells = starts.zip(numbers).collect();
        Ok(Self::parse(name, notebook.source_code().to_owned(), PySourceType::Ipynb, cells))
    }

    fn parse(name: &str, text: String, kind: PySourceType, cells: Vec<(u32, usize)>) -> Self {
        let body = parse_unchecked_source(&text, kind).into_syntax().body;
        let lines = LineIndex::from_source_text(&text);
        Self { name: name.to_owned(), text, cells, lines, body: body.into_iter().collect() }
    }

    /// The statements of the file.
    pub(crate) fn body(&self) -> &[tree::Stmt] {
        &self.body
    }

    /// Whether the text can have anything to do with torch.
    #[must_use]
    pub(crate) fn concerns_torch(&self) -> bool {
        TORCH_WORDS.iter().any(|word| memchr::memmem::find(self.text.as_bytes(), word.as_bytes()).is_some())
    }

    /// Where a byte is.
    #[must_use]
    pub(crate) fn position(&self, offset: u32) -> Position {
        let place = self.lines.line_column(TextSize::from(offset), &self.text);
        let (line, column) = (place.line.get(), place.column.get());
        let Some((start, number)) = self.cells.iter().rev().find(|(start, _)| *start <= offset) else {
            return Position { cell: None, line, column };
        };
        let first = self.lines.line_index(TextSize::from(*start)).get();
        Position { cell: Some(*number), line: line - first + 1, column }
    }
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn places_are_counted_from_one() {
        let source = Source::read("a.py", "\u{feff}x = 1\ny = é + 2\n").expect("a script is always read");
        let place = source.position(6);
        assert_eq!((place.cell, place.line, place.column), (None, 2, 1));
    }

    #[test]
    fn a_notebook_is_counted_by_cells() {
        let json = r#"{"cells": [{"cell_type": "markdown", "metadata": {}, "source": ["hi"]},
            {"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": ["x = 1\n", "y = 2"]}],
            "metadata": {}, "nbformat": 4, "nbformat_minor": 2}"#;
        let source = Source::read("a.ipynb", json).expect("it is a notebook");
        let place = source.position(6);
        assert_eq!((place.cell, place.line), (Some(2), 2));
    }
}
