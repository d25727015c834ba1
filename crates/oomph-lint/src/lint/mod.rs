//! Runs all rules over files and gives what they find.

use rayon::prelude::*;
use serde::Serialize;

use crate::facts::Facts;
use crate::interp::{File, Program, analyse};
use crate::rules::{Amount, Level, Often, RULES};
use crate::syntax::Source;

/// Groups of files that import one another are analysed together up to this size, else file by file.
const GROUP_MAX: usize = 60;
/// Deep programs need a deep stack; pages that are not touched cost nothing.
const STACK_BYTES: usize = 512 << 20;

/// A file to check: its name and its text.
#[derive(Debug, Clone)]
pub struct Input {
    /// What the user calls it.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// One bug.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule's name.
    pub rule: &'static str,
    /// `error`, `warning` or `info`.
    pub level: &'static str,
    /// The file.
    pub file: String,
    /// The cell of a notebook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<usize>,
    /// The line, from 1; within the cell of a notebook.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong and what to do.
    pub message: String,
    /// What is kept: `activations`, `model`, `batch` or `small`.
    pub amount: &'static str,
    /// How often that is added: `iteration`, `epoch` or `once`.
    pub often: &'static str,
    /// Whether the finding rests on what a name means.
    pub hinted: bool,
}

/// Checks files together.
#[must_use]
pub fn check(inputs: &[Input]) -> Vec<Finding> {
    let pool = rayon::ThreadPoolBuilder::new().stack_size(STACK_BYTES).build();
    match pool {
        Ok(pool) => pool.install(|| check_here(inputs)),
        Err(_) => check_here(inputs),
    }
}

fn check_here(inputs: &[Input]) -> Vec<Finding> {
    let files: Vec<File> = inputs
        .par_iter()
        .filter_map(|input| Source::read(&input.name, &input.text).ok())
        .filter(Source::concerns_torch)
        .map(File::new)
        .collect();
    let program = Program::new(files);
    let mut findings: Vec<Finding> =
        groups(&program).par_iter().flat_map_iter(|group| check_group(&program, group)).collect();
    findings
        .sort_by(|a, b| (&a.file, a.cell, a.line, a.rule, a.column).cmp(&(&b.file, b.cell, b.line, b.rule, b.column)));
    findings.dedup_by(|a, b| (a.rule, &a.file, a.cell, a.line) == (b.rule, &b.file, b.cell, b.line));
    findings
}

fn check_group(program: &Program, files: &[u32]) -> Vec<Finding> {
    let log = analyse(program, files);
    let facts = Facts::new(program, &log);
    let mut findings = Vec::new();
    for rule in RULES {
        for found in rule.run(&facts) {
            let source = &program.files[found.at.file as usize].source;
            let place = source.position(found.at.span.start);
            findings.push(Finding {
                rule: rule.name,
                level: match Level::of(found.amount, found.often) {
                    Level::Error => "error",
                    Level::Warning => "warning",
                    Level::Info => "info",
                },
                file: source.name.clone(),
                cell: place.cell,
                line: place.line,
                column: place.column,
                message: found.message,
                amount: match found.amount {
                    Amount::Activations => "activations",
                    Amount::Model => "model",
                    Amount::Batch => "batch",
                    Amount::Small => "small",
                },
                often: match found.often {
                    Often::Iteration => "iteration",
                    Often::Epoch => "epoch",
                    Often::Once => "once",
                },
                hinted: found.is_hinted,
            });
        }
    }
    findings
}

/// Files that import one another, importers first; a group that is too large is taken apart.
fn groups(program: &Program) -> Vec<Vec<u32>> {
    let count = program.files.len();
    let imports: Vec<Vec<u32>> = (0..count as u32).into_par_iter().map(|file| program.imports_of(file)).collect();
    let mut leader: Vec<usize> = (0..count).collect();
    for (file, imported) in imports.iter().enumerate() {
        for &other in imported {
            let (a, b) = (find(&mut leader, file), find(&mut leader, other as usize));
            leader[a] = b;
        }
    }
    let mut by_leader: std::collections::BTreeMap<usize, Vec<u32>> = std::collections::BTreeMap::new();
    for file in 0..count {
        by_leader.entry(find(&mut leader, file)).or_default().push(file as u32);
    }
    let mut importers = vec![0_usize; count];
    imports.iter().flatten().for_each(|&file| importers[file as usize] += 1);
    let mut groups = Vec::new();
    for mut group in by_leader.into_values() {
        if group.len() > GROUP_MAX {
            groups.extend(group.into_iter().map(|file| vec![file]));
        } else {
            group.sort_by_key(|&file| (importers[file as usize], file));
            groups.push(group);
        }
    }
    groups
}

fn find(leader: &mut [usize], mut at: usize) -> usize {
    while leader[at] != at {
        leader[at] = leader[leader[at]];
        at = leader[at];
    }
    at
}
