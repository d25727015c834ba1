//! Documents cannot lie: what they show is what the command prints.

use std::fmt::Write as _;
use std::process::Command;

use serde_json::Value;

use crate::harness::{check_file, corpus, oomph, root, text};

/// Names of the pages of one kind.
fn names_of(kind: &str) -> Vec<String> {
    let listing: Value = serde_json::from_slice(&oomph(["doc", "--json"]).stdout).expect("JSON");
    let pages = listing["pages"].as_array().expect("a list of pages");
    pages
        .iter()
        .filter(|page| page["kind"] == kind)
        .filter_map(|page| Some(page["name"].as_str()?.to_owned()))
        .collect()
}

fn check_reference(path: &str, kind: &str, heading: &str, introduction: &str) {
    let names = names_of(kind);
    assert!(names.len() > 2, "'oomph doc' lists no {kind}");
    let mut page = format!("# {heading}\n\n{introduction}\n\nThis page is made from what `oomph doc NAME` prints.\n");
    for name in names {
        let output = oomph(["doc", &name]);
        // A page's own headings go one level down.
        let body = text(&output.stdout).replace("\n## ", "\n### ");
        let _ = write!(page, "\n#{body}");
    }
    check_file(path, &page);
}

#[test]
fn reference_of_rules() {
    let introduction = "What `oomph check` looks for. [check.md](check.md) says how to choose among them.";
    check_reference("docs/rules.md", "rule", "Rules", introduction);
}

#[test]
fn reference_of_policies() {
    check_reference(
        "docs/policies.md",
        "policy",
        "Placement policies",
        "What `oomph replay --policy` can run a trace through.",
    );
}

#[test]
fn reference_of_verdicts() {
    check_reference(
        "docs/verdicts.md",
        "verdict",
        "Verdict classes",
        "What `oomph explain` can find: exactly one of these.",
    );
}

#[test]
fn reference_of_remedies() {
    let introduction = "What `oomph plan --fit` tries. [fit.md](fit.md) says how it chooses.";
    check_reference("docs/remedies.md", "remedy", "Remedies", introduction);
}

#[test]
fn reference_of_cards() {
    check_reference("docs/cards.md", "card", "Cards", "What `oomph plan --gpu` knows by name.");
}

#[test]
fn reference_of_words() {
    check_reference("docs/glossary.md", "term", "Glossary", "Each word is used in this one sense everywhere.");
}

#[test]
fn reference_of_the_command_line() {
    let mut page = String::from("# The command line\n\nThis page is made from what `oomph help` prints.\n");
    for verb in ["", "check", "plan", "run", "explain", "replay", "top", "doc", "lsp", "completions", "man"] {
        let output = oomph(["help", verb].iter().filter(|word| !word.is_empty()));
        let title = format!("oomph {verb}");
        let _ = write!(page, "\n## {}\n\n```text\n{}```\n", title.trim_end(), text(&output.stdout));
    }
    check_file("docs/cli.md", &page);
}

/// Files with bugs in them.
const SAMPLES: &str = "samples";

/// Every key of every JSON answer is explained.
#[test]
fn json_is_documented() {
    let page = std::fs::read_to_string(root().join("docs/json.md")).expect("there is docs/json.md");
    let leak = corpus("oom_loss_kept_with_graph");
    let marked = corpus("special_annotated");
    let log = format!("{SAMPLES}/died.log");
    for args in [
        vec!["check", SAMPLES],
        vec!["explain", &leak],
        vec!["explain", &marked],
        vec!["explain", &leak, &marked],
        vec!["explain", &log],
        vec!["replay", &leak],
        vec!["doc"],
        vec!["doc", "leak"],
    ] {
        let output = oomph(args.iter().chain(&["--json"]));
        let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let mut keys = Vec::new();
        collect_keys(&value, &mut keys);
        assert!(keys.len() > 2, "{args:?} prints next to nothing");
        for key in keys {
            let spellings = [format!("`{key}`"), format!(".{key}`"), format!("\"{key}\"")];
            assert!(spellings.iter().any(|spelling| page.contains(spelling)), "docs/json.md does not explain {key}");
        }
    }
}

fn collect_keys(value: &Value, keys: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, inner) in entries {
                keys.push(key.clone());
                collect_keys(inner, keys);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_keys(item, keys)),
        _ => {}
    }
}

/// Every ```` ```console ```` block is run line by line, as a reader would.
#[test]
fn readme_shows_what_happens() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("there is a README");
    let mut renewed = String::new();
    let mut in_console = false;
    let mut commands = 0;
    for line in readme.lines() {
        if line.starts_with("```") {
            in_console = line == "```console";
        }
        if !in_console || line == "```console" {
            renewed.push_str(line);
            renewed.push('\n');
        } else if let Some(command_line) = line.strip_prefix("$ ") {
            commands += 1;
            let _ = write!(renewed, "{line}\n{}", run_in_shell(command_line));
        }
    }
    assert!(commands > 0, "the README shows no command at all");
    check_file("README.md", &renewed);
}

/// Runs a line of the tour with the freshly built command first on the path, in an empty folder beside links to the
/// corpus and the samples, so that nothing the tour writes lands in the repository.
fn run_in_shell(command_line: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, target) in [("corpus", "corpus"), ("samples", SAMPLES)] {
        std::os::unix::fs::symlink(root().join(target), folder.path().join(name)).expect("a link");
    }
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_oomph"));
    let mut path = std::ffi::OsString::from(binary.parent().expect("a binary lies in a folder"));
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let script = format!("{{ {command_line}; }} 2>&1");
    let output = Command::new("sh").arg("-c").arg(script).current_dir(folder.path()).env("PATH", path).output();
    text(&output.expect("there is a shell").stdout).to_owned()
}
