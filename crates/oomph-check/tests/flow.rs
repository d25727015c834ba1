//! Data flow through real shapes of code: each file in `flow/` marks the lines where a rule must fire with
//! `# <- rule`, and no other line may. Files of one folder are one project.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use oomph_check::{Project, RuleSet, Selection, Source, check, rules};

/// Rules that the files speak about; others may come and go.
const RULES: &[&str] = &[
    "loss-accumulated-with-graph",
    "tensor-stored-in-container-with-graph",
    "eval-loop-without-no-grad",
    "losses-summed-then-one-backward",
    "hidden-state-carried-across-batches",
    "zero-grad-inside-accumulation",
    "unknown-memory-api",
    "empty-cache-in-inner-loop",
    "retry-inside-except",
    "cat-in-loop",
    "load-without-map-location",
];

type Marks = BTreeSet<(String, usize, String)>;

#[test]
fn marked_lines_fire_and_no_others() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/flow");
    let mut failures = Vec::new();
    for (name, files) in projects(&folder) {
        let sources: Vec<Source> = files
            .iter()
            .map(|path| {
                let shown = path.strip_prefix(&folder).expect("inside").display().to_string();
                Source::parse(&shown, fs::read_to_string(path).expect("readable"))
            })
            .collect();
        let expected: Marks = sources.iter().flat_map(marks).collect();
        let project = Project::new(sources);
        let found = check(&project, &Selection::same(RuleSet::all()));
        let mut fired = Marks::new();
        for (source, findings) in project.sources().iter().zip(found) {
            for finding in findings.iter().filter(|finding| RULES.contains(&finding.rule)) {
                let line = source.position(finding.range.start()).line;
                fired.insert((source.name.clone(), line, finding.rule.to_owned()));
            }
        }
        failures.extend(expected.difference(&fired).map(|(file, line, rule)| format!("{file}:{line}: missed {rule}")));
        failures.extend(fired.difference(&expected).map(|(file, line, rule)| format!("{file}:{line}: wrong {rule}")));
        assert!(!files.is_empty(), "{name} holds no Python");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn marks_name_rules() {
    assert!(RULES.iter().all(|name| rules::find(name).is_some()));
}

/// Single files are projects of one; a folder is a project.
fn projects(folder: &Path) -> Vec<(String, Vec<PathBuf>)> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    entries
        .into_iter()
        .map(|path| {
            let mut files = Vec::new();
            collect(&path, &mut files);
            files.sort();
            (path.display().to_string(), files)
        })
        .collect()
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a folder") {
            collect(&entry.expect("an entry").path(), files);
        }
    } else if path.extension().is_some_and(|extension| extension == "py") {
        files.push(path.to_owned());
    }
}

fn marks(source: &Source) -> Vec<(String, usize, String)> {
    let mut found = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        if let Some((_, names)) = line.split_once("# <- ") {
            for name in names.split_whitespace() {
                found.push((source.name.clone(), index + 1, name.to_owned()));
            }
        }
    }
    found
}
