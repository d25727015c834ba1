//! `--emit diff`: what makes the job fit as changes to the user's own script, for whoever prefers to own them.

use std::collections::BTreeMap;
use std::path::Path;

use oomph_plan::remedies::{ByHand, RemedyChoice, remedy};
use oomph_plan::search::Found;
use oomph_plan::survey::{MadeAt, Survey};
use similar::TextDiff;

/// The changes, and what they leave out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// A unified diff; empty where nothing can be written by hand.
    pub(super) diff: String,
    /// Why something is not in it, each a sentence.
    pub(super) missing: Vec<String>,
}

/// What a search found, as changes to the file that makes the optimizer.
pub(super) fn changes(found: &Found, read: impl Fn(&str) -> Option<String>) -> Changes {
    let (Some(chosen), Some(proof)) = (found.chosen(), found.proof.as_ref()) else { return Changes::default() };
    let survey = Survey::of(&proof.decisive().1.facts.watched);
    let mut changes = Changes::default();
    if let Some(conf) = &chosen.allocator {
        changes.missing.push(format!("set PYTORCH_CUDA_ALLOC_CONF={conf} in the environment"));
    }
    let made_at = survey.optimizers.iter().find_map(|optimizer| optimizer.made_at.as_ref());
    let text = made_at.and_then(|made_at| Some((made_at, read(&made_at.file)?)));
    let Some((made_at, text)) = text else {
        let names = chosen.choices.iter().map(|choice| choice.name.as_str()).collect::<Vec<_>>().join(", ");
        changes.missing.push(format!("{names}: no statement of the script makes its optimizer"));
        return changes;
    };
    let insertions = insertions(&chosen.choices, made_at, &survey, &mut changes.missing);
    if !insertions.is_empty() {
        let with_lines = inserted(&text, made_at, &insertions);
        let name = from_here(&made_at.file);
        let (old, new) = (format!("a/{name}"), format!("b/{name}"));
        changes.diff = TextDiff::from_lines(&text, &with_lines).unified_diff().header(&old, &new).to_string();
    }
    changes
}

/// A path as `patch -p1` takes it, started from where the user is.
fn from_here(file: &str) -> String {
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
    let file = Path::new(file);
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let name = real.strip_prefix(here).unwrap_or(&real).to_string_lossy().into_owned();
    name.trim_start_matches('/').to_owned()
}

/// Where a line goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Before,
    After,
}

fn insertions(
    choices: &[RemedyChoice],
    made_at: &MadeAt,
    survey: &Survey,
    missing: &mut Vec<String>,
) -> Vec<(Place, String)> {
    let mut found = Vec::new();
    for choice in choices {
        let by_hand = remedy(&choice.name).and_then(|remedy| remedy.by_hand(choice, survey));
        let line = match (by_hand, &made_at.model, &made_at.optimizer) {
            (Some(ByHand::Model(function, rest)), Some(model), _) => {
                Some((Place::Before, format!("oomph.{function}({model}{rest})")))
            }
            (Some(ByHand::Optimizer(function, rest)), _, Some(optimizer)) => {
                Some((Place::After, format!("oomph.{function}({optimizer}{rest})")))
            }
            _ => None,
        };
        match line {
            Some(line) => found.push(line),
            None => missing.push(format!("{} is no single line: 'oomph doc {0}' shows how", choice.name)),
        }
    }
    found
}

/// The text with lines put around a statement, and with the import they need.
fn inserted(text: &str, made_at: &MadeAt, insertions: &[(Place, String)]) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.get(made_at.first_line.saturating_sub(1)).copied().unwrap_or_default();
    let indent = &first[..first.len() - first.trim_start().len()];
    let mut added: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    if !lines.iter().any(|line| line.trim() == "import oomph") {
        added.entry(import_line(&lines)).or_default().push("import oomph".to_owned());
    }
    for (place, line) in insertions {
        let after = if *place == Place::Before { made_at.first_line - 1 } else { made_at.last_line };
        added.entry(after).or_default().push(format!("{indent}{line}"));
    }
    let mut out = String::new();
    for at in 0..=lines.len() {
        for line in added.get(&at).into_iter().flatten() {
            out.push_str(line);
            out.push('\n');
        }
        if let Some(line) = lines.get(at) {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// After which line an import stands well: before `import torch`, which most scripts have, or the first import.
fn import_line(lines: &[&str]) -> usize {
    let starts = |prefix: &str| lines.iter().position(|line| line.starts_with(prefix));
    let futures = lines.iter().rposition(|line| line.starts_with("from __future__")).map_or(0, |at| at + 1);
    starts("import torch").or_else(|| starts("import ")).unwrap_or(futures).max(futures)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "\
from __future__ import annotations
import torch

def main():
    model = Net()
    optimizer = torch.optim.AdamW(
        model.parameters(),
    )
    train()
";

    fn made_at() -> MadeAt {
        MadeAt {
            file: "train.py".into(),
            first_line: 6,
            last_line: 8,
            model: Some("model".into()),
            optimizer: Some("optimizer".into()),
        }
    }

    #[test]
    fn lines_go_around_the_statement_and_what_is_no_line_is_told() {
        let choices = [
            RemedyChoice::new("checkpoint_blocks").with("blocks", vec!["blocks.0"]),
            RemedyChoice::new("lean_optimizer").with("how", "fused"),
            RemedyChoice::new("micro_batches").with("parts", 2),
        ];
        let mut missing = Vec::new();
        let insertions = insertions(&choices, &made_at(), &Survey::default(), &mut missing);
        assert_eq!(missing, ["micro_batches is no single line: 'oomph doc micro_batches' shows how"]);
        let expected = "\
from __future__ import annotations
import oomph
import torch

def main():
    model = Net()
    oomph.checkpoint_blocks(model, [\"blocks.0\"])
    optimizer = torch.optim.AdamW(
        model.parameters(),
    )
    oomph.lean_optimizer(optimizer, how=\"fused\")
    train()
";
        assert_eq!(inserted(SCRIPT, &made_at(), &insertions), expected);
    }

    #[test]
    fn a_script_that_imports_oomph_keeps_its_import() {
        let text = format!("import oomph\n{SCRIPT}").replace("from __future__ import annotations\n", "");
        let changed = inserted(&text, &made_at(), &[(Place::Before, "oomph.lazy_logits(model)".into())]);
        assert_eq!(changed.matches("import oomph").count(), 1);
    }
}
