//! Each rule's example programs: the bad one is found on the line it marks, the good one is silent.

use std::path::{Path, PathBuf};

use oomph_lint::{Input, RULES, check};

fn folder(rule: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rules").join(rule.replace('-', "_"))
}

fn lines_found(rule: &str, file: &str) -> (String, Vec<usize>) {
    let text = std::fs::read_to_string(folder(rule).join(file)).expect("every rule has a bad and a good program");
    let findings = check(&[Input { name: file.to_owned(), text: text.clone() }]);
    let lines = findings.iter().filter(|finding| finding.rule == rule).map(|finding| finding.line).collect();
    (text, lines)
}

#[test]
fn bad_programs_are_found_on_their_line() {
    for rule in RULES {
        let (text, lines) = lines_found(rule.name, "bad.py");
        let marked = text.lines().position(|line| line.ends_with("# bad")).map(|at| at + 1);
        assert_eq!(lines.first().copied(), marked, "{}", rule.name);
    }
}

#[test]
fn good_programs_are_silent() {
    for rule in RULES {
        let (_, lines) = lines_found(rule.name, "good.py");
        assert!(lines.is_empty(), "{} on lines {lines:?}", rule.name);
    }
}

#[test]
fn every_rule_has_a_page() {
    for rule in RULES {
        assert!(rule.page.starts_with(&format!("# {}\n", rule.name)), "{}", rule.name);
    }
}
