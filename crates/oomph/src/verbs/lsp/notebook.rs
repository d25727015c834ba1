//! Notebooks an editor has open: cells are documents of their own, but are checked together, in order.

use std::path::Path;
use std::sync::Arc;

use lsp_types::{NotebookCell, NotebookCellArrayChange, NotebookCellKind, Uri};
use oomph_check::python::{TextRange, TextSize};
use oomph_check::settings::Settings;
use oomph_check::{Choices, Edit, Evidence, Finding, Fix, Project, Source, lint};
use serde_json::json;

use super::document::path_of;
use crate::verbs::check::Declared;

/// The order of a notebook's cells.
pub(super) struct Notebook {
    pub(super) uri: Uri,
    pub(super) cells: Vec<NotebookCell>,
}

impl Notebook {
    /// Cells come and go.
    pub(super) fn splice(&mut self, change: NotebookCellArrayChange) {
        let start = (change.start as usize).min(self.cells.len());
        let end = start.saturating_add(change.delete_count as usize).min(self.cells.len());
        self.cells.splice(start..end, change.cells.unwrap_or_default());
    }

    /// What there is to say about each cell, in the cell's own places. `text_of` has the text of a cell.
    pub(super) fn check<'a>(
        &self,
        text_of: impl Fn(&Uri) -> Option<&'a str>,
        settings: &Arc<Settings>,
    ) -> Vec<(Uri, Vec<Finding>)> {
        let cells: Vec<_> = self.cells.iter().map(|cell| cell_json(cell, text_of(&cell.document))).collect();
        let json = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 2 }).to_string();
        let path = path_of(&self.uri);
        let name = path.as_deref().unwrap_or(Path::new(self.uri.as_str())).to_string_lossy();
        // What is put together here is a notebook.
        let Ok(source) = Source::parse_notebook(&name, &json) else { return Vec::new() };
        let mut choices = Choices::default();
        choices.push(settings, path.as_deref().unwrap_or(Path::new("")));
        let project = Project::new(vec![source]);
        let torch = || path.as_deref().and_then(|path| Some(Declared::default().of(path.parent()?)));
        let findings = lint(&project, &choices, |_| torch().unwrap_or_default())
            .pop()
            .map(|checked| checked.findings)
            .unwrap_or_default();
        let places = project.sources()[0].cells.iter().map(|cell| (cell.number - 1, cell.range));
        places
            .filter_map(|(index, range)| {
                let own = findings.iter().filter_map(|finding| within(finding, range)).collect();
                Some((self.cells.get(index)?.document.clone(), own))
            })
            .collect()
    }
}

fn cell_json(cell: &NotebookCell, text: Option<&str>) -> serde_json::Value {
    match text.filter(|_| cell.kind == NotebookCellKind::Code) {
        Some(text) => {
            json!({ "cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": text })
        }
        None => json!({ "cell_type": "markdown", "metadata": {}, "source": "" }),
    }
}

/// A finding as its cell sees it; `None` if it is in another. Facts and fixes that reach into other cells stay behind.
fn within(finding: &Finding, cell: TextRange) -> Option<Finding> {
    let local = |range: TextRange| cell.contains_range(range).then(|| range - cell.start());
    let fact = |fact: &Evidence| Some(Evidence { range: local(fact.range)?, text: fact.text.clone() });
    let edit = |edit: &Edit| {
        // The line break after the last line stands between cells.
        let range = TextRange::new(edit.range.start(), edit.range.end().min(cell.end()).max(edit.range.start()));
        let beyond = edit.range.end() > cell.end() + TextSize::from(1);
        let text = if range.end() < edit.range.end() { edit.text.trim_end_matches('\n') } else { &edit.text };
        Some(Edit::replace(local(range).filter(|_| !beyond)?, text))
    };
    let fix = finding.fix.as_ref().and_then(|fix| {
        let edits = fix.edits.iter().map(edit).collect::<Option<Vec<_>>>()?;
        Some(Fix { edits, ..fix.clone() })
    });
    let evidence = finding.evidence.iter().filter_map(fact).collect();
    Some(Finding { range: local(finding.range)?, evidence, fix, ..finding.clone() })
}
