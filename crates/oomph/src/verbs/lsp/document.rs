//! An open document: its text as the editor has it, and what there is to say about it.

use std::path::PathBuf;
use std::sync::Arc;

use lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, Location, NumberOrString,
    TextDocumentContentChangeEvent, Uri,
};
use oomph_check::fixes::{self, Fixed};
use oomph_check::settings::Settings;
use oomph_check::{Choices, Envelope, Finding, Level, Project, Source, TorchVersions, lint};

use super::position::{Encoding, Lines};
use crate::verbs::check::Declared;

/// A document an editor has opened.
pub(super) struct Document {
    pub(super) uri: Uri,
    pub(super) version: i32,
    pub(super) lines: Lines,
    /// The notebook it is a cell of, which has its findings.
    pub(super) notebook: Option<Uri>,
    /// One file, parsed.
    project: Project,
    pub(super) findings: Vec<Finding>,
}

impl Document {
    pub(super) fn new(uri: Uri, version: i32, text: String, encoding: Encoding) -> Self {
        let lines = Lines::of(&text, encoding);
        let name = path_of(&uri).map_or_else(|| uri.as_str().to_owned(), |path| path.to_string_lossy().into_owned());
        let project = Project::new(vec![Source::parse(&name, text)]);
        Self { uri, version, lines, notebook: None, project, findings: Vec::new() }
    }

    /// The same document after the editor's changes, which build upon one another.
    pub(super) fn changed(
        &self,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
        encoding: Encoding,
    ) -> Self {
        let mut text = self.text().to_owned();
        for change in changes {
            match change.range {
                Some(range) => {
                    let lines = Lines::of(&text, encoding);
                    text.replace_range(lines.text_range(&text, range), &change.text);
                }
                None => text = change.text,
            }
        }
        Self { notebook: self.notebook.clone(), ..Self::new(self.uri.clone(), version, text, encoding) }
    }

    pub(super) fn source(&self) -> &Source {
        &self.project.sources()[0]
    }

    pub(super) fn text(&self) -> &str {
        &self.source().text
    }

    /// The file it is, or is a part of.
    pub(super) fn path(&self) -> Option<PathBuf> {
        path_of(self.notebook.as_ref().unwrap_or(&self.uri))
    }

    /// Works out what there is to say.
    pub(super) fn check(&mut self, settings: &Arc<Settings>) {
        let mut choices = Choices::default();
        choices.push(settings, &self.path().unwrap_or_default());
        self.findings =
            lint(&self.project, &choices, |_| self.torch()).pop().map(|checked| checked.findings).unwrap_or_default();
    }

    /// The text after one round of safe fixes, if that changes anything.
    pub(super) fn round(&self) -> Option<Fixed> {
        let surroundings = self.project.surroundings(self.torch());
        fixes::round(self.source(), &Envelope::default(), self.findings.iter(), false, surroundings)
    }

    /// The versions of torch that its project declares.
    fn torch(&self) -> TorchVersions {
        self.path().and_then(|path| Some(Declared::default().of(path.parent()?))).unwrap_or_default()
    }

    /// The findings as an editor shows them.
    pub(super) fn diagnostics(&self) -> Vec<Diagnostic> {
        self.findings.iter().map(|finding| self.diagnostic(finding)).collect()
    }

    pub(super) fn diagnostic(&self, finding: &Finding) -> Diagnostic {
        let range = |range| self.lines.range(self.text(), range);
        let related = finding.evidence.iter().map(|fact| DiagnosticRelatedInformation {
            location: Location { uri: self.uri.clone(), range: range(fact.range) },
            message: fact.text.clone(),
        });
        let related: Vec<_> = related.collect();
        Diagnostic {
            range: range(finding.range),
            severity: Some(match finding.level {
                Level::Error => DiagnosticSeverity::ERROR,
                Level::Warning => DiagnosticSeverity::WARNING,
                Level::Info => DiagnosticSeverity::INFORMATION,
            }),
            code: Some(NumberOrString::String(finding.rule.to_owned())),
            source: Some("oomph".to_owned()),
            message: format!("{}\n{}", finding.message, finding.size.words()),
            related_information: (!related.is_empty()).then_some(related),
            tags: (finding.rule == "unused-ignore").then(|| vec![DiagnosticTag::UNNECESSARY]),
            ..Diagnostic::default()
        }
    }
}

/// The file a URI names, if it names one.
pub(super) fn path_of(uri: &Uri) -> Option<PathBuf> {
    let encoded = uri.as_str().strip_prefix("file://")?;
    // A host may stand before the path; it is this one.
    let encoded = &encoded[encoded.find('/')?..];
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = tail.get(..2).filter(|_| first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        if let Some(byte) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            bytes.push(byte);
            rest = &tail[2..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_name_files() {
        let path = |uri: &str| path_of(&uri.parse().expect("a URI"));
        assert_eq!(path("file:///a/b%20c/d%C3%A9.py"), Some("/a/b c/dé.py".into()));
        assert_eq!(path("file://localhost/a.py"), Some("/a.py".into()));
        assert_eq!(path("untitled:Untitled-1"), None);
    }

    #[test]
    fn changes_build_upon_one_another() {
        let uri: Uri = "file:///a.py".parse().expect("a URI");
        let document = Document::new(uri, 1, "é = 1\nb = 2\n".into(), Encoding::Utf16);
        let change = |start: (u32, u32), end: (u32, u32), text: &str| TextDocumentContentChangeEvent {
            range: Some(lsp_types::Range::new(
                lsp_types::Position::new(start.0, start.1),
                lsp_types::Position::new(end.0, end.1),
            )),
            range_length: None,
            text: text.into(),
        };
        let changes = vec![change((0, 4), (0, 5), "10\n11"), change((1, 0), (2, 1), "🙂"), change((1, 2), (9, 9), "!")];
        assert_eq!(document.changed(2, changes, Encoding::Utf16).text(), "é = 10\n🙂!");
    }
}
