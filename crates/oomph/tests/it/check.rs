//! `oomph check` as users meet it: what it prints, what it reads, what it writes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use insta::assert_snapshot;
use serde_json::Value;

use crate::harness::{command, corpus, root, text, transcript};

const SAMPLES: &str = "samples";

/// A project in a folder of its own.
struct Project(tempfile::TempDir);

fn project(files: &[(&str, &str)]) -> Project {
    let project = Project(tempfile::tempdir().expect("a temporary folder"));
    for (path, content) in files {
        project.write(path, content.as_bytes());
    }
    project
}

impl Project {
    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, content: &[u8]) {
        let full = self.path(path);
        std::fs::create_dir_all(full.parent().expect("it is in a folder")).expect("the folder can be made");
        std::fs::write(full, content).expect("the file can be written");
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).expect("there is such a file")
    }

    fn check(&self, args: &[&str]) -> Output {
        command(self.0.path()).arg("check").args(args).output().expect("runs")
    }

    /// Findings as `file:line rule`, and the exit code.
    fn found(&self, args: &[&str]) -> (Vec<String>, Option<i32>) {
        let output = self.check(&[args, &["--json"]].concat());
        let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", transcript(&output)));
        let show = |finding: &Value| {
            format!(
                "{}:{} {}",
                finding["file"].as_str().unwrap_or("?"),
                finding["line"],
                finding["rule"].as_str().unwrap_or("?")
            )
        };
        (json["findings"].as_array().expect("a list").iter().map(show).collect(), output.status.code())
    }
}

/// One bug, with a fix that is safe.
const BUG: &str = "import torch\n\ntorch.empty_cache()\n";
const MENDED: &str = "import torch\n\ntorch.cuda.empty_cache()\n";

fn shown(name: &str, args: &[&str]) {
    let output = command(&root().join(SAMPLES)).arg("check").args(args).output().expect("runs");
    let transcript = format!("$ oomph check {}\n{}", args.join(" "), transcript(&output));
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        assert_snapshot!(name, transcript);
    });
}

#[test]
fn output_for_people() {
    shown("check_text", &[]);
    shown("check_text_unsafe", &["train.py", "--unsafe-fixes"]);
    shown("check_concise", &["--output-format", "concise"]);
    shown("check_statistics", &["--statistics", "--unsafe-fixes"]);
    shown("check_clean", &["clean.py"]);
    shown("check_diff", &["--diff", "--unsafe-fixes"]);
}

#[test]
fn output_for_programs() {
    shown("check_json", &["--output-format", "json"]);
    shown("check_github", &["--output-format", "github"]);
    shown("check_junit", &["--output-format", "junit"]);
    shown("check_sarif", &["--output-format", "sarif", "notebook.ipynb", "train.py", "--select", "unknown-memory-api"]);
}

#[test]
fn mistakes_have_a_way_out() {
    shown("check_unknown_rule", &["--select", "graph,retain-graph-tru"]);
    shown("check_no_path", &["nowhere.py"]);
    shown("check_bad_config", &["--config", "clean.py"]);
}

#[test]
fn text_fits_a_terminal() {
    let output =
        command(&root().join(SAMPLES)).args(["check", "--select", "all", "--unsafe-fixes"]).output().expect("runs");
    for line in text(&output.stdout).lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
}

#[test]
fn only_python_that_is_the_projects_own_is_found() {
    let project = project(&[
        ("a.py", BUG),
        ("deep/b.py", BUG),
        ("notes.txt", BUG),
        ("stub.pyi", BUG),
        (".venv/lib/c.py", BUG),
        ("build/d.py", BUG),
        ("generated/e.py", BUG),
        (".gitignore", "generated/\n"),
    ]);
    std::fs::create_dir(project.path(".git")).expect("a folder");
    let bug = |file: &str| format!("{file}:3 unknown-memory-api");
    assert_eq!(project.found(&[]), (vec![bug("a.py"), bug("deep/b.py")], Some(1)));
    assert_eq!(project.found(&["notes.txt", "build/d.py"]).0, [bug("build/d.py"), bug("notes.txt")], "named files");
    assert_eq!(
        project.found(&[".venv", "generated"]).0,
        [bug(".venv/lib/c.py"), bug("generated/e.py")],
        "named folders"
    );
    assert_eq!(project.found(&["a.py", ".", "./a.py", "--exclude", "deep"]).0, [bug("a.py")], "each once");
    assert_eq!(project.found(&["build/d.py", "--force-exclude"]), (vec![], Some(0)));
    assert_eq!(text(&project.check(&["--show-files"]).stdout), "a.py\ndeep/b.py\n");
}

#[test]
fn one_unreadable_file_does_not_hide_the_others() {
    let project = project(&[("a.py", BUG), ("c.ipynb", "not a notebook")]);
    project.write("b.py", b"# caf\xe9\nimport torch\n");
    let output = project.check(&["--output-format", "concise"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stdout).starts_with("a.py:3:1: error unknown-memory-api"), "{}", transcript(&output));
    let errors: Vec<&str> = text(&output.stderr).lines().collect();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].starts_with("error: b.py: line 1 is not UTF-8"), "{errors:?}");
    assert!(errors[1].starts_with("error: c.ipynb is not a notebook"), "{errors:?}");
}

#[test]
fn settings_come_from_the_nearest_file_that_has_some() {
    let project = project(&[
        ("pyproject.toml", "[tool.oomph.check]\nignore = ['unknown-memory-api']\n"),
        ("a.py", BUG),
        ("inner/pyproject.toml", "[tool.oomph.check.severity]\nunknown-memory-api = 'info'\n"),
        ("inner/deep/b.py", BUG),
        ("inner/deep/pyproject.toml", "[project]\nname = 'x'\n"),
        ("other.toml", "[tool.oomph.check.per-file-ignores]\n'inner/**' = ['allocator']\n"),
    ]);
    let (a, b) = ("a.py:3 unknown-memory-api".to_owned(), "inner/deep/b.py:3 unknown-memory-api".to_owned());
    // Its level is `info` there, which is shown because somebody chose it, and fails nothing.
    assert_eq!(project.found(&[]), (vec![b.clone()], Some(0)));
    assert_eq!(project.found(&["inner", "--isolated"]), (vec![b.clone()], Some(1)));
    assert_eq!(project.found(&["--isolated"]).0, [a.clone(), b]);
    assert_eq!(project.found(&["--config", "other.toml"]).0, [a]);
    assert_eq!(project.found(&["--exit-zero"]).1, Some(0));
    assert_eq!(project.found(&["--ignore", "all"]), (vec![], Some(0)));
    let level = project.check(&["inner", "--output-format", "concise"]);
    assert!(text(&level.stdout).contains(": info unknown-memory-api: "), "{}", transcript(&level));
}

#[test]
fn a_mistake_in_settings_is_one_error() {
    let project = project(&[("a.py", BUG), ("pyproject.toml", "[tool.oomph.check]\nselect = ['grpah']\n")]);
    let output = project.check(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    let wanted = "error: pyproject.toml:2:11: there is no rule or group named 'grpah'\nhint: did you mean graph?\n";
    assert_eq!(text(&output.stderr), wanted);
}

#[test]
fn fixes_keep_everything_else_as_it_was() {
    let notebook = std::fs::read_to_string(root().join(SAMPLES).join("notebook.ipynb")).expect("a sample");
    let windows = format!("\u{feff}{}", BUG.replace('\n', "\r\n"));
    let project = project(&[("a.py", BUG), ("b.py", &windows), ("c.ipynb", &notebook)]);
    let odd = std::fs::Permissions::from_mode(0o754);
    std::fs::set_permissions(project.path("a.py"), odd.clone()).expect("own file");
    std::os::unix::fs::symlink("a.py", project.path("link.py")).expect("a link");
    let output = project.check(&["--fix"]);
    assert_eq!(output.status.code(), Some(0), "{}", transcript(&output));
    assert!(text(&output.stdout).starts_with("Fixed 3 problems. None left in 3 files"), "{}", transcript(&output));
    assert_eq!(project.read("a.py"), MENDED);
    assert_eq!(project.read("b.py"), format!("\u{feff}{}", MENDED.replace('\n', "\r\n")));
    assert_eq!(project.read("c.ipynb"), notebook.replace("torch.empty_cache()", "torch.cuda.empty_cache()"));
    let mode = std::fs::metadata(project.path("a.py")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o754);
    assert!(project.path("link.py").is_symlink());
    assert_eq!(std::fs::read_dir(project.0.path()).expect("readable").count(), 4, "a draft was left behind");
}

#[test]
fn diffs_change_nothing() {
    let project = project(&[("a.py", BUG)]);
    let output = project.check(&["--diff"]);
    let wanted =
        "--- a.py\n+++ a.py\n@@ -1,3 +1,3 @@\n import torch\n \n-torch.empty_cache()\n+torch.cuda.empty_cache()\n";
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), wanted));
    assert_eq!(project.read("a.py"), BUG);
    project.write("a.py", MENDED.as_bytes());
    assert_eq!(project.check(&["--diff"]).status.code(), Some(0));
}

#[test]
fn stdin_is_a_file_too() {
    let project = project(&[("pyproject.toml", "[tool.oomph.check.per-file-ignores]\n'tests/*' = ['all']\n")]);
    let run = |args: &[&str]| {
        let mut child = command(project.0.path())
            .arg("check")
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("runs");
        child.stdin.take().expect("piped").write_all(BUG.as_bytes()).expect("read");
        child.wait_with_output().expect("ends")
    };
    let plain = run(&["-", "--output-format", "concise"]);
    assert!(text(&plain.stdout).starts_with("<stdin>:3:1: error "), "{}", transcript(&plain));
    let spared = run(&["-", "--stdin-filename", "tests/a.py"]);
    assert_eq!(spared.status.code(), Some(0), "{}", transcript(&spared));
    let fixed = run(&["-", "--fix"]);
    assert_eq!((fixed.status.code(), text(&fixed.stdout)), (Some(0), MENDED));
}

/// The line to blame in a recorded out-of-memory error, and what it held.
#[test]
fn a_trace_says_what_a_finding_costs() {
    let code = "\
import torch.nn.functional as F
from torch import nn


def loss_kept_with_graph(loader):
    model = nn.Linear(8, 2)
    total_loss = 0
    for x, y in loader:
        total_loss = total_loss + F.cross_entropy(model(x), y)
    print(total_loss / len(loader))
";
    let line = 1 + code.lines().position(|line| line.contains("cross_entropy")).expect("it is there");
    let project = project(&[("job/oomcases.py", &format!("{}{code}", "#\n".repeat(25 - line)))]);
    let snapshot = root().join(corpus("oom_loss_kept_with_graph"));
    let output = command(project.0.path()).args(["check", "--json", "--trace"]).arg(snapshot).output().expect("runs");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", transcript(&output)));
    let findings = json["findings"].as_array().expect("a list");
    let finding = findings.iter().find(|finding| finding["line"] == 25).expect("the sum is found");
    let bytes = finding["bytes"].as_u64().expect("the trace saw the file");
    assert!((900 << 20..1014 << 20).contains(&bytes), "{bytes}");
}

#[test]
fn watching_checks_again_when_a_file_changes() {
    let project = project(&[("a.py", BUG)]);
    let mut child = command(project.0.path())
        .args(["check", "--watch", "--output-format", "concise"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("runs");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map(|line| line.expect("text"));
    assert!(lines.next().is_some_and(|line| line.starts_with("a.py:3:1: error")));
    assert!(lines.next().is_some_and(|line| line.starts_with("Found 1 problem")));
    // The watch begins after the first report.
    std::thread::sleep(std::time::Duration::from_millis(500));
    project.write("a.py", MENDED.as_bytes());
    assert_eq!(lines.next().as_deref(), Some("No problems found in 1 file, 3 lines."));
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

/// The languages of `.pre-commit-hooks.yaml` run what this binary understands.
#[test]
fn the_hook_runs() {
    let hooks = std::fs::read_to_string(root().join(".pre-commit-hooks.yaml")).expect("there are hooks");
    let entry = hooks.lines().find_map(|line| line.trim().strip_prefix("entry: ")).expect("an entry");
    let words: Vec<&str> = entry.split_whitespace().collect();
    assert_eq!(words[0], "oomph");
    let project = project(&[("a.py", BUG), ("build/b.py", BUG)]);
    let run = |files: &[&str]| -> Output {
        let mut hook: Command = command(project.0.path());
        hook.args(&words[1..]).args(files).output().expect("runs")
    };
    assert_eq!(run(&["a.py", "build/b.py"]).status.code(), Some(1));
    assert_eq!(run(&["build/b.py"]).status.code(), Some(0), "what is excluded stays so");
}
