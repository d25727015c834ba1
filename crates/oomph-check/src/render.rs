//! Findings as people and programs read them. Renderings hold no analysis: they show the same [`Results`].

pub mod concise;
pub mod diff;
mod excerpt;
pub mod github;
pub mod json;
pub mod junit;
pub mod sarif;
pub mod text;

use crate::finding::{Finding, Fix, Level, Safety};
use crate::python::TextRange;
use crate::source::{Position, Source};

/// One file with what there is to say about it.
#[derive(Debug)]
pub struct FileResult<'a> {
    /// The file.
    pub source: &'a Source,
    /// In the order of the text.
    pub findings: &'a [Finding],
    /// What each finding costs, one entry a finding, where a trace of the job was given.
    pub bytes: Vec<Option<u64>>,
}

/// A file that could not be checked.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The file.
    pub file: String,
    /// Why, and the way out.
    pub message: String,
}

/// Everything one run has to say.
#[derive(Debug)]
pub struct Results<'a> {
    /// The files checked, with or without findings.
    pub files: Vec<FileResult<'a>>,
    /// Those that could not be.
    pub failures: &'a [Failure],
    /// How many findings comments silenced.
    pub silenced: usize,
    /// How many findings were fixed before the rest was reported.
    pub fixed: usize,
    /// Whether fixes that may change behaviour are on offer.
    pub unsafe_fixes: bool,
    /// How sizes are written: `24.00MiB`.
    pub show_bytes: fn(u64) -> String,
}

/// A finding with its file.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The file.
    pub source: &'a Source,
    /// What was found.
    pub finding: &'a Finding,
    /// What it costs, where a trace was given.
    pub bytes: Option<u64>,
}

impl<'a> Results<'a> {
    /// Every finding, file by file.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'a>> + '_ {
        self.files.iter().flat_map(|file| {
            let bytes = file.bytes.iter().copied().chain(std::iter::repeat(None));
            file.findings.iter().zip(bytes).map(|(finding, bytes)| Entry { source: file.source, finding, bytes })
        })
    }

    /// How many findings there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.files.iter().map(|file| file.findings.len()).sum()
    }

    /// How many findings make the check fail.
    #[must_use]
    pub fn failing(&self) -> usize {
        self.entries().filter(|entry| entry.finding.level.fails()).count()
    }

    /// How many lines were read.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.files.iter().map(|file| line_count(&file.source.text)).sum()
    }

    /// How many findings have a fix of this safety.
    #[must_use]
    pub fn fixable(&self, safety: Safety) -> usize {
        self.entries().filter(|entry| entry.finding.fix.as_ref().is_some_and(|fix| fix.safety == safety)).count()
    }
}

/// Lines as an editor counts them: what follows the last line break is one only if there is something.
fn line_count(text: &str) -> usize {
    text.matches('\n').count() + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

impl Entry<'_> {
    /// Where the finding begins and ends.
    #[must_use]
    pub fn span(&self) -> Span {
        span(self.source, self.finding.range)
    }

    /// The fix, if it may be offered: one that may change behaviour only where the user asked for such.
    fn offered(&self, unsafe_fixes: bool) -> Option<&Fix> {
        self.finding.fix.as_ref().filter(|fix| unsafe_fixes || fix.safety == Safety::Safe)
    }
}

/// A range as people count: from 1, the end being the first column after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first character.
    pub start: Position,
    /// The first one after it.
    pub end: Position,
}

/// A range of a source as people count.
#[must_use]
pub fn span(source: &Source, range: TextRange) -> Span {
    Span { start: source.position(range.start()), end: source.position(range.end()) }
}

/// A level's name.
#[must_use]
pub fn level_name(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Info => "info",
    }
}

/// `file:line:column`, with the cell of a notebook.
fn place(source: &Source, position: Position) -> String {
    let cell = position.cell.map_or(String::new(), |cell| format!("cell {cell}:"));
    format!("{}:{cell}{}:{}", source.name, position.line, position.column)
}

/// "1 file", "2 files".
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
