//! The one door to ruff's crates: rules and analyses see Python through what is named here.
//!
//! Ruff's library API is unstable; when it moves, this file and nothing else is to move with it.

pub(crate) use imported::Imported;
pub use ruff_python_ast as ast;
pub use ruff_python_ast::{Expr, ExprCall, Stmt};
pub use ruff_text_size::{Ranged, TextLen, TextRange, TextSize};
pub(crate) use written::Written;

use ruff_notebook::Notebook;
use ruff_python_ast::token::TokenKind;
use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal, walk_body};
use ruff_python_ast::{AnyNodeRef, ModModule, PySourceType};
use ruff_python_parser::{ParseError, ParseOptions, Parsed, parse_cells_unchecked, parse_unchecked_source};
use ruff_source_file::{LineIndex, OneIndexed};

mod imported;
mod inlined;
mod mentions;
mod plain;
mod state;
mod turns;
mod written;

/// Trees nested deeper than this are not analysed: walking them could exhaust the stack.
pub(crate) const MAX_NESTING: usize = 400;

/// Logical lines with fewer tokens than this cannot nest deeply.
const HARMLESS_TOKENS: usize = 300;

/// A parsed module: its tree, its comments and what the parser complained about.
#[derive(Debug)]
pub(crate) struct Tree {
    body: ast::Suite,
    errors: Vec<SyntaxError>,
    comments: Vec<TextRange>,
    /// Whether it nests deeper than [`MAX_NESTING`].
    pub(crate) too_deep: bool,
}

/// A complaint of the parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Where.
    pub range: TextRange,
    /// What is wrong.
    pub message: String,
}

impl Tree {
    /// Parses a script; never fails, the tree holds what could be recovered.
    pub(crate) fn of_script(text: &str) -> Self {
        Self::new(parse_unchecked_source(text, PySourceType::Python), text)
    }

    /// Parses the cells of a notebook, one after another in `text`.
    pub(crate) fn of_cells(text: &str, cells: &[TextRange]) -> Self {
        let options = ParseOptions::from(PySourceType::Ipynb);
        Self::new(parse_cells_unchecked(text, cells.iter().copied(), &options), text)
    }

    fn new(parsed: Parsed<ModModule>, text: &str) -> Self {
        let too_deep = may_nest_deeply(&parsed) && nests_deeply(&parsed.syntax().body);
        let error = |error: &ParseError| SyntaxError { range: error.range(), message: error.error.to_string() };
        let errors = parsed.errors().iter().map(error).collect();
        let comments = parsed.tokens().iter().filter(|token| token.kind() == TokenKind::Comment);
        let comments = comments.map(Ranged::range).collect();
        let mut body = parsed.into_suite();
        if !too_deep {
            // Walking every expression costs; few files have such calls.
            let has = |call: &str| memchr::memmem::find(text.as_bytes(), call.as_bytes()).is_some();
            if ["getattr(", ".train(False)", ".train(mode=False)"].into_iter().any(has) {
                plain::make_calls_plain(&mut body);
            }
            plain::make_plain(&mut body);
        }
        Self { body, errors, comments, too_deep }
    }

    /// Reads functions that one loop calls where they are called, and state kept in one place as variables. Functions
    /// that are imported elsewhere stay what they are.
    pub(crate) fn read_in_place(&mut self, is_imported: impl Fn(&str) -> bool) {
        if !self.too_deep {
            inlined::read_in_place(&mut self.body, &is_imported);
            state::read_as_variables(&mut self.body);
        }
    }

    /// The statements of the module.
    pub(crate) fn body(&self) -> &[Stmt] {
        &self.body
    }

    /// The parser's complaints, in order.
    pub(crate) fn errors(&self) -> Vec<SyntaxError> {
        self.errors.clone()
    }

    /// Whether the parser had nothing to complain about.
    pub(crate) fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    /// Where the comments are, in order.
    pub(crate) fn comments(&self) -> impl Iterator<Item = TextRange> + '_ {
        self.comments.iter().copied()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if self.too_deep {
            // Dropping a tree recurses as deep as it nests: losing its memory is better than losing the process.
            std::mem::forget(std::mem::take(&mut self.body));
        }
    }
}

/// Whether some logical line has tokens enough to nest deeply, or blocks do.
fn may_nest_deeply(parsed: &Parsed<ModModule>) -> bool {
    let (mut line, mut depth) = (0_usize, 0_usize);
    for token in parsed.tokens() {
        match token.kind() {
            TokenKind::Newline => line = 0,
            TokenKind::Indent => depth += 1,
            TokenKind::Dedent => depth = depth.saturating_sub(1),
            _ => line += 1,
        }
        if line > HARMLESS_TOKENS || depth > 50 {
            return true;
        }
    }
    false
}

/// Whether the tree nests deeper than [`MAX_NESTING`]; looks no deeper than that.
fn nests_deeply(body: &[Stmt]) -> bool {
    struct Depth {
        now: usize,
        deepest: usize,
    }
    impl<'a> SourceOrderVisitor<'a> for Depth {
        fn enter_node(&mut self, _: AnyNodeRef<'a>) -> TraversalSignal {
            self.now += 1;
            self.deepest = self.deepest.max(self.now);
            if self.now > MAX_NESTING { TraversalSignal::Skip } else { TraversalSignal::Traverse }
        }
        fn leave_node(&mut self, _: AnyNodeRef<'a>) {
            self.now -= 1;
        }
    }
    let mut depth = Depth { now: 0, deepest: 0 };
    walk_body(&mut depth, body);
    depth.deepest > MAX_NESTING
}

/// Counts reads of a name.
struct Reads<'n> {
    name: &'n str,
    count: usize,
}

impl<'a> SourceOrderVisitor<'a> for Reads<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(found) = expr {
            self.count += usize::from(found.id.as_str() == self.name && found.ctx.is_load());
        }
        ast::visitor::source_order::walk_expr(self, expr);
    }
}

/// The name at the root of a chain of attributes, subscripts and calls: `batch` of `batch["x"].float()`.
#[must_use]
pub fn root_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(node) => root_name(&node.value),
        Expr::Subscript(node) => root_name(&node.value),
        Expr::Call(node) => root_name(&node.func),
        _ => None,
    }
}

/// The line that opens a `for`. One that was written as a `while` has what it goes over further up.
#[must_use]
pub fn head_of(node: &ast::StmtFor) -> TextRange {
    let start = node.range.start();
    if node.iter.end() > start {
        return TextRange::new(start, node.iter.end());
    }
    TextRange::at(start, TextSize::of("while"))
}

/// The text of a function's body that is read in place: a `with` stands where the call is written.
#[must_use]
pub fn body_elsewhere(node: &ast::StmtWith) -> Option<TextRange> {
    let mut written = node.body.iter().map(Ranged::range).filter(|range| !range.is_empty());
    let mut text = written.next().filter(|first| !node.range.contains_range(*first))?;
    for range in written.filter(|range| !node.range.contains_range(*range)) {
        text = text.cover(range);
    }
    Some(text)
}

/// How often a name is read within statements.
#[must_use]
pub fn count_reads(stmts: &[Stmt], name: &str) -> usize {
    let mut reads = Reads { name, count: 0 };
    walk_body(&mut reads, stmts);
    reads.count
}

/// How often a name is read within an expression.
#[must_use]
pub fn count_reads_in(expr: &Expr, name: &str) -> usize {
    let mut reads = Reads { name, count: 0 };
    reads.visit_expr(expr);
    reads.count
}

/// The lines of a text, to turn offsets into lines and columns.
#[derive(Debug)]
pub(crate) struct Lines(LineIndex);

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        Self(LineIndex::from_source_text(text))
    }

    /// Line and column of an offset, from 1; columns count characters.
    pub(crate) fn line_column(&self, offset: TextSize, text: &str) -> (usize, usize) {
        let place = self.0.line_column(offset.min(text.text_len()), text);
        (place.line.get(), place.column.get())
    }

    /// Where a line (from 1) begins and ends, its line break included.
    pub(crate) fn range(&self, line: usize, text: &str) -> TextRange {
        OneIndexed::new(line).map_or_else(TextRange::default, |line| self.0.line_range(line, text))
    }

    /// How many lines there are.
    pub(crate) fn count(&self) -> usize {
        self.0.line_count()
    }
}

/// The code cells of a notebook: one text, and which part of it each cell is.
pub(crate) struct Cells {
    pub(crate) text: String,
    pub(crate) ranges: Vec<TextRange>,
    /// The number of each cell in the notebook, from 1, other kinds of cells counted.
    pub(crate) numbers: Vec<usize>,
    /// What each cell gave when it was last run.
    pub(crate) outputs: Vec<Output>,
}

/// What a notebook has stored of a cell's last run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Nothing that tells: not run, or its output was cleared.
    Unknown,
    /// An error: the cell had no value.
    Error,
    /// The text of its value.
    Value {
        /// A tensor in it says that it is on a GPU.
        on_gpu: bool,
        /// A tensor in it says that it has a graph.
        has_graph: bool,
        /// It has three dimensions or more, and numbers were left out, as torch does for more than a thousand.
        is_large: bool,
    },
}

impl Output {
    /// Whether it shows a tensor of many numbers.
    pub(crate) fn is_large(self) -> bool {
        matches!(self, Self::Value { is_large: true, .. })
    }

    fn of(cell: Option<&ruff_notebook::Cell>) -> Self {
        let Some(ruff_notebook::Cell::Code(code)) = cell else { return Self::Unknown };
        let is_a = |output: &&serde_json::Value, kind: &str| output["output_type"] == kind;
        if code.outputs.iter().any(|output| is_a(&output, "error")) {
            return Self::Error;
        }
        let Some(result) = code.outputs.iter().find(|output| is_a(output, "execute_result")) else {
            return Self::Unknown;
        };
        let text = match &result["data"]["text/plain"] {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Array(lines) => lines.iter().filter_map(serde_json::Value::as_str).collect(),
            _ => return Self::Unknown,
        };
        Self::Value {
            on_gpu: text.contains("device='cuda"),
            has_graph: text.contains("grad_fn=<"),
            is_large: text.contains("[[[") && text.contains("..."),
        }
    }
}

/// Whether the code of one cell parses.
pub(crate) fn is_cell(code: &str) -> bool {
    Tree::of_cells(code, &[TextRange::up_to(code.text_len())]).errors().is_empty()
}

/// The notebook, where it is one but for keys that are there twice: of those the last value counts, as for Jupyter.
fn with_last_values(json: &str) -> Option<Notebook> {
    let last: serde_json::Value = serde_json::from_str(json).ok()?;
    Notebook::from_source_code(&last.to_string()).ok()
}

/// Takes the Python code out of a notebook; an empty file is one that Jupyter has not written yet.
///
/// # Errors
///
/// A sentence that says why the JSON is no Python notebook.
pub(crate) fn read_notebook(json: &str) -> Result<Cells, String> {
    let no_code = || Cells { text: String::new(), ranges: Vec::new(), numbers: Vec::new(), outputs: Vec::new() };
    if json.trim().is_empty() {
        return Ok(no_code());
    }
    let notebook = Notebook::from_source_code(json)
        .or_else(|error| with_last_values(json).ok_or(error))
        .map_err(|error| error.to_string())?;
    if !notebook.is_python_notebook() {
        return Ok(no_code());
    }
    let numbers: Vec<usize> = notebook.index().iter().map(|start| start.cell_index().get()).collect();
    let outputs = numbers.iter().map(|number| Output::of(notebook.cells().get(number.wrapping_sub(1)))).collect();
    let ranges = notebook.cell_offsets().content_ranges().collect();
    Ok(Cells { text: notebook.source_code().to_owned(), ranges, numbers, outputs })
}
