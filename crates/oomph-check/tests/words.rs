//! The same bug in other words: each file in `words/` is about one rule, named before the first dot, and holds programs,
//! parted by `# ---`. Each is a project of its own: the rule must fire on the lines marked `# <-` and on no others. Programs in `silent_*.py` are
//! right: no rule that is on by default may fire.

use std::fs;
use std::path::Path;

use oomph_check::{Choice, Project, RuleSet, Selection, Source, check};

#[test]
fn rules_fire_on_marked_lines_alone() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/words");
    let mut failures = Vec::new();
    let mut programs = 0;
    for entry in fs::read_dir(&folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().replace('_', "-");
        let rule = name.split('.').next().unwrap_or_default();
        let text = fs::read_to_string(&path).expect("readable");
        for program in text.split("# ---\n") {
            programs += 1;
            failures.extend(judge(rule, program));
        }
    }
    assert!(programs > 50, "{programs} programs");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What is wrong with what a program makes the rule say.
fn judge(rule: &str, program: &str) -> Option<String> {
    let project = Project::new(vec![Source::parse("program.py", program.to_owned())]);
    let silent = rule.starts_with("silent-");
    // Alone: where two rules see one bug, one of them is told.
    let set = if silent { RuleSet::defaults() } else { RuleSet::none().with(rule, Choice::Selected) };
    let found = check(&project, &Selection::same(set));
    let mut fired: Vec<usize> = found[0]
        .iter()
        .filter(|finding| silent || finding.rule == rule)
        .map(|finding| project.sources()[0].position(finding.range.start()).line)
        .collect();
    fired.dedup();
    let marked = |(index, line): (usize, &str)| line.ends_with("# <-").then_some(index + 1);
    let expected: Vec<usize> = program.lines().enumerate().filter_map(marked).collect();
    assert!(silent || !expected.is_empty(), "{rule}: nothing is marked in\n{program}");
    (fired != expected).then(|| format!("{rule}: lines {fired:?} instead of {expected:?} of\n{program}"))
}
