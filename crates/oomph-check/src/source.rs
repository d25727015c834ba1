//! A Python file, a notebook or text from an editor, parsed.

use crate::envelope::lines_of_cells;
use crate::error::Error;
use crate::python::{Imported, Lines, Output, Stmt, SyntaxError, TextRange, TextSize, Tree, read_notebook};

/// What a source was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Plain Python.
    Script,
    /// A Jupyter notebook: its code cells are one text.
    Notebook,
}

/// A place as people and editors count: from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The cell of a notebook, all kinds of cells counted.
    pub cell: Option<usize>,
    /// The line; within the cell for a notebook.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A cell of a notebook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Its number in the notebook, from 1, all kinds of cells counted.
    pub number: usize,
    /// Its part of the source's text.
    pub range: TextRange,
    /// What it gave when it was last run.
    pub output: Output,
}

/// One file to check: its text and its tree.
#[derive(Debug)]
pub struct Source {
    /// What the user calls it: a path, or `<stdin>`.
    pub name: String,
    /// The text as it is on disk; for a notebook, the code of its cells one after another.
    pub text: String,
    /// Script or notebook.
    pub kind: Kind,
    /// The code cells, for a notebook.
    pub cells: Vec<Cell>,
    /// For each cell of a notebook, the line of the file that each line of its code is on.
    lines_in_file: Vec<Vec<usize>>,
    lines: Lines,
    tree: Tree,
}

impl Source {
    /// Parses a script. Text that is no Python gives a source with [`Source::syntax_errors`].
    #[must_use]
    pub fn parse(name: &str, text: String) -> Self {
        let (tree, lines) = (Tree::of_script(&text), Lines::of(&text));
        Self {
            name: name.to_owned(),
            text,
            kind: Kind::Script,
            cells: Vec::new(),
            lines_in_file: Vec::new(),
            lines,
            tree,
        }
    }

    /// Parses the code cells of a notebook; one in another language has none.
    ///
    /// # Errors
    ///
    /// When `json` is no notebook.
    pub fn parse_notebook(name: &str, json: &str) -> Result<Self, Error> {
        let cells = read_notebook(json).map_err(|reason| Error::Notebook { name: name.to_owned(), reason })?;
        let (tree, lines) = (Tree::of_cells(&cells.text, &cells.ranges), Lines::of(&cells.text));
        let numbered = cells.numbers.into_iter().zip(cells.ranges).zip(cells.outputs);
        Ok(Self {
            name: name.to_owned(),
            text: cells.text,
            kind: Kind::Notebook,
            cells: numbered.map(|((number, range), output)| Cell { number, range, output }).collect(),
            lines_in_file: lines_of_cells(json),
            lines,
            tree,
        })
    }

    /// The same notebook with other code in some cells: `code_of` has what is new in a cell, if anything is.
    pub(crate) fn with_cells(&self, code_of: impl Fn(TextRange) -> Option<String>) -> Self {
        let (mut text, mut cells, mut done) = (String::with_capacity(self.text.len()), Vec::new(), TextSize::from(0));
        for cell in &self.cells {
            text.push_str(self.slice(TextRange::new(done, cell.range.start())));
            let start = TextSize::of(&text);
            text.push_str(&code_of(cell.range).unwrap_or_else(|| self.slice(cell.range).to_owned()));
            cells.push(Cell { range: TextRange::new(start, TextSize::of(&text)), ..*cell });
            done = cell.range.end();
        }
        text.push_str(self.slice(TextRange::new(done, TextSize::of(&self.text))));
        let ranges: Vec<TextRange> = cells.iter().map(|cell| cell.range).collect();
        let (tree, lines) = (Tree::of_cells(&text, &ranges), Lines::of(&text));
        Self { name: self.name.clone(), text, kind: self.kind, cells, lines_in_file: Vec::new(), lines, tree }
    }

    /// The same file, as if it were the only one: nothing is read where it is called.
    #[must_use]
    pub fn alone(&self) -> Self {
        if self.cells.is_empty() { Self::parse(&self.name, self.text.clone()) } else { self.with_cells(|_| None) }
    }

    /// What the parser complained about; the rest of the file is checked all the same.
    #[must_use]
    pub fn syntax_errors(&self) -> Vec<SyntaxError> {
        self.tree.errors()
    }

    /// Whether it can have anything to do with torch: it names it, or does what only models are made to do.
    #[must_use]
    pub fn concerns_torch(&self) -> bool {
        ["torch", "lightning", "transformers", "accelerate", "PYTORCH", "cuda", "zero_grad", ".backward(", ".eval()"]
            .iter()
            .any(|word| memchr::memmem::find(self.text.as_bytes(), word.as_bytes()).is_some())
    }

    /// Reads the steps of loops that are functions of their own where they are called, but for what others import.
    pub(crate) fn read_in_place(&mut self, imported: &Imported) {
        let file = self.name.rsplit(['/', '\\']).next().unwrap_or_default();
        let is_open = imported.has_module(file.split('.').next().unwrap_or_default());
        self.tree.read_in_place(|name| is_open || imported.has_name(name));
    }

    /// Where an offset is.
    #[must_use]
    pub fn position(&self, offset: TextSize) -> Position {
        let (line, column) = self.lines.line_column(offset, &self.text);
        let Some(cell) = self.cells.iter().rev().find(|cell| cell.range.start() <= offset) else {
            return Position { cell: None, line, column };
        };
        let (first, _) = self.lines.line_column(cell.range.start(), &self.text);
        Position { cell: Some(cell.number), line: line + 1 - first, column }
    }

    /// The line of the file that a place is on, from 1: that of a notebook's JSON, where services show it.
    #[must_use]
    pub fn line_in_file(&self, position: Position) -> usize {
        let cell = position.cell.and_then(|number| self.lines_in_file.get(number.checked_sub(1)?));
        let own = cell.and_then(|lines| lines.get(position.line.wrapping_sub(1)).or(lines.last()));
        own.copied().unwrap_or(position.line)
    }

    /// The text of a range.
    #[must_use]
    pub fn slice(&self, range: TextRange) -> &str {
        self.text.get(range.start().to_usize()..range.end().to_usize()).unwrap_or_default()
    }

    /// A line of the text (from 1, cells not counted apart) with its line break.
    #[must_use]
    pub fn line_range(&self, line: usize) -> TextRange {
        self.lines.range(line, &self.text)
    }

    /// The line of the text an offset is on (from 1, cells not counted apart).
    #[must_use]
    pub fn line_of(&self, offset: TextSize) -> usize {
        self.lines.line_column(offset, &self.text).0
    }

    /// How many lines the text has.
    #[must_use]
    pub fn line_count(&self) -> usize {
        self.lines.count()
    }

    /// Where the comments are, in order.
    pub fn comments(&self) -> impl Iterator<Item = TextRange> + '_ {
        self.tree.comments()
    }

    /// Whether its statements are looked at: those that nest too deep to walk are not.
    #[must_use]
    pub fn is_walked(&self) -> bool {
        !self.tree.too_deep
    }

    /// Whether all of it could be parsed and is looked at: nothing it binds is missed.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_walked() && self.tree.is_valid()
    }

    /// The statements of the module; empty when they nest too deep to walk.
    #[must_use]
    pub fn body(&self) -> &[Stmt] {
        if self.tree.too_deep { &[] } else { self.tree.body() }
    }
}
