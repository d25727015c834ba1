//! What an editor offers on a finding: its fix, all safe fixes, or a comment that ignores it.

use std::collections::HashMap;
use std::sync::Arc;

use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, DocumentChanges, OneOf,
    OptionalVersionedTextDocumentIdentifier, TextDocumentEdit, TextEdit, WorkspaceEdit,
};
use oomph_check::python::{TextRange, TextSize};
use oomph_check::settings::Settings;
use oomph_check::{Edit, Finding, Kind, Safety, ignore_edit};

use super::document::Document;
use crate::verbs::check::{Batch, File};

/// All safe fixes of a document at once.
pub(super) const FIX_ALL: CodeActionKind = CodeActionKind::new("source.fixAll.oomph");

/// How an editor wants its edits: with the version they are for, or plain.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EditStyle {
    pub(super) versioned: bool,
}

/// Everything that can be done about what is selected.
pub(super) fn actions(
    document: &Document,
    params: &CodeActionParams,
    settings: &Arc<Settings>,
    style: EditStyle,
) -> Vec<CodeActionOrCommand> {
    let selected = document.lines.text_range(document.text(), params.range);
    let touches = |finding: &&Finding| {
        finding.range.start().to_usize() <= selected.end && selected.start <= finding.range.end().to_usize()
    };
    let wants = |kind: &CodeActionKind| {
        let asked = params.context.only.as_deref();
        asked.is_none_or(|asked| asked.iter().any(|wanted| covers(wanted, kind)))
    };
    let mut actions = Vec::new();
    if wants(&CodeActionKind::QUICKFIX) {
        let findings: Vec<&Finding> = document.findings.iter().filter(touches).collect();
        actions.extend(findings.iter().filter_map(|finding| quick_fix(document, finding, style)));
        actions.extend(findings.iter().map(|finding| ignore(document, finding, style)));
    }
    if wants(&FIX_ALL)
        && let Some(action) = fix_all(document, settings, style)
    {
        actions.push(action);
    }
    actions.into_iter().map(CodeActionOrCommand::CodeAction).collect()
}

/// Kinds are trees: asking for `source` asks for `source.fixAll.oomph` too.
fn covers(wanted: &CodeActionKind, kind: &CodeActionKind) -> bool {
    let (wanted, kind) = (wanted.as_str(), kind.as_str());
    kind.strip_prefix(wanted).is_some_and(|rest| wanted.is_empty() || rest.is_empty() || rest.starts_with('.'))
}

fn quick_fix(document: &Document, finding: &Finding, style: EditStyle) -> Option<CodeAction> {
    let fix = finding.fix.as_ref()?;
    let caution = if fix.safety == Safety::Unsafe { " (may change behaviour)" } else { "" };
    Some(CodeAction {
        title: format!("oomph: {}{caution}", fix.title),
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![document.diagnostic(finding)]),
        edit: Some(workspace_edit(document, fix.edits.iter(), style)),
        is_preferred: Some(fix.safety == Safety::Safe),
        ..CodeAction::default()
    })
}

fn ignore(document: &Document, finding: &Finding, style: EditStyle) -> CodeAction {
    CodeAction {
        title: format!("oomph: Ignore {} on this line", finding.rule),
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![document.diagnostic(finding)]),
        edit: Some(workspace_edit(document, std::iter::once(&ignore_edit(document.source(), finding)), style)),
        ..CodeAction::default()
    }
}

fn fix_all(document: &Document, settings: &Arc<Settings>, style: EditStyle) -> Option<CodeAction> {
    let mended = mended(document, settings)?;
    let edit = difference(document.text(), &mended);
    Some(CodeAction {
        title: "oomph: Fix all that is safe to fix".to_owned(),
        kind: Some(FIX_ALL),
        edit: Some(workspace_edit(document, std::iter::once(&edit), style)),
        ..CodeAction::default()
    })
}

/// The text after all safe fixes, if there are any.
fn mended(document: &Document, settings: &Arc<Settings>) -> Option<String> {
    if document.notebook.is_some() {
        // What other cells say about a cell is known only to the notebook: one round has to do.
        let round = document.round();
        return round.map(|fixed| fixed.source.text);
    }
    let file = File {
        name: document.source().name.clone(),
        path: document.path().unwrap_or_default(),
        kind: Kind::Script,
        settings: Arc::clone(settings),
    };
    let mut batch = Batch::of_text(file, document.text().as_bytes().to_vec());
    let (_, mended) = batch.mend(false);
    (!mended.before.is_empty()).then(|| batch.text(0))
}

/// The one edit that turns a text into another: what they have in common at both ends stays.
fn difference(before: &str, after: &str) -> Edit {
    let common = |a: &mut dyn Iterator<Item = char>, b: &mut dyn Iterator<Item = char>| -> usize {
        a.zip(b).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
    };
    let start = common(&mut before.chars(), &mut after.chars());
    let end = common(&mut before[start..].chars().rev(), &mut after[start..].chars().rev());
    let range = TextRange::new(TextSize::of(&before[..start]), TextSize::of(&before[..before.len() - end]));
    Edit::replace(range, &after[start..after.len() - end])
}

fn workspace_edit<'a>(document: &Document, edits: impl Iterator<Item = &'a Edit>, style: EditStyle) -> WorkspaceEdit {
    let edit = |edit: &Edit| TextEdit {
        range: document.lines.range(document.text(), edit.range),
        new_text: edit.text.clone(),
    };
    let edits: Vec<TextEdit> = edits.map(edit).collect();
    if style.versioned {
        let text_document =
            OptionalVersionedTextDocumentIdentifier { uri: document.uri.clone(), version: Some(document.version) };
        let edits = edits.into_iter().map(OneOf::Left).collect();
        let changes = DocumentChanges::Edits(vec![TextDocumentEdit { text_document, edits }]);
        return WorkspaceEdit { document_changes: Some(changes), ..WorkspaceEdit::default() };
    }
    WorkspaceEdit { changes: Some(HashMap::from([(document.uri.clone(), edits)])), ..WorkspaceEdit::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_replaced() {
        let edit = difference("a = é\nb = 1\nc\n", "a = é\nb = 22\nc\n");
        assert_eq!((edit.range.start(), edit.text.as_str()), (TextSize::of("a = é\nb = "), "22"));
        let edit = difference("aa", "aaa");
        assert_eq!((edit.range.is_empty(), edit.text.as_str()), (true, "a"));
    }

    #[test]
    fn kinds_cover_their_own() {
        let kind = |name: &'static str| CodeActionKind::new(name);
        assert!(
            covers(&kind("source"), &FIX_ALL)
                && covers(&kind("source.fixAll"), &FIX_ALL)
                && covers(&kind(""), &FIX_ALL)
        );
        assert!(!covers(&kind("source.fix"), &FIX_ALL) && !covers(&kind("quickfix"), &FIX_ALL));
    }
}
