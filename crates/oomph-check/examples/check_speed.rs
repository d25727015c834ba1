//! Checks folders and says how fast: `cargo run --release -p oomph-check --example check_speed -- FOLDER...`.
//! `--findings` prints what was found, `--counts` how often each rule fired.

#![expect(clippy::print_stdout, reason = "a measuring tool prints")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use oomph_check::{Project, RuleSet, Selection, Source, check};
use rayon::prelude::*;

fn main() {
    let (flags, folders): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|arg| arg.starts_with("--"));
    let has = |flag: &str| flags.iter().any(|found| found == flag);
    let start = Instant::now();
    let mut files = Vec::new();
    for folder in &folders {
        collect(Path::new(folder), &mut files);
    }
    files.sort();
    let sources: Vec<Source> = files.par_iter().filter_map(|path| read(path)).collect();
    let lines: usize = sources.iter().map(Source::line_count).sum();
    let parsed = start.elapsed();
    let set = if has("--all") { RuleSet::all() } else { RuleSet::defaults() };
    let project = Project::new(sources);
    let found = check(&project, &Selection::same(set));
    let total = start.elapsed();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (source, findings) in project.sources().iter().zip(&found) {
        for finding in findings {
            *counts.entry(finding.rule).or_default() += 1;
            if has("--findings") {
                let place = source.position(finding.range.start());
                println!(
                    "{}:{}:{} {} {:?}: {}",
                    source.name, place.line, place.column, finding.rule, finding.level, finding.message
                );
                for fact in &finding.evidence {
                    println!("    {}: {}", source.position(fact.range.start()).line, fact.text);
                }
            }
        }
    }
    if has("--counts") {
        for (rule, count) in &counts {
            println!("{count:6} {rule}");
        }
    }
    let files = project.sources().len();
    println!(
        "{files} files, {lines} lines: read and parsed in {parsed:.3?}, checked in {:.3?}, {:.0} lines/s, {} findings",
        total.checked_sub(parsed).unwrap_or_default(),
        lines as f64 / total.as_secs_f64(),
        counts.values().sum::<usize>(),
    );
}

fn read(path: &Path) -> Option<Source> {
    let name = path.display().to_string();
    let text = String::from_utf8_lossy(&fs::read(path).ok()?).into_owned();
    if path.extension().is_some_and(|extension| extension == "ipynb") {
        return Source::parse_notebook(&name, &text).ok();
    }
    Some(Source::parse(&name, text))
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if let Ok(entries) = fs::read_dir(path) {
        for entry in entries.flatten() {
            collect(&entry.path(), files);
        }
    } else if path.extension().is_some_and(|extension| extension == "py" || extension == "ipynb") {
        files.push(path.to_owned());
    }
}
