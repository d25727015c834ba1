//! What commands print: exit code, stdout and stderr as reviewed snapshots.

use insta::assert_snapshot;

use crate::harness::{command, oomph, root, text, transcript};

fn check(name: &str, args: &[&str]) {
    let shown = format!("$ oomph {}\n{}", args.join(" "), transcript(&oomph(args)));
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        assert_snapshot!(name, shown);
    });
}

#[test]
fn doc() {
    check("doc_list", &["doc"]);
    check("doc_page", &["doc", "leak"]);
    check("doc_json", &["doc", "device", "--json"]);
}

#[test]
fn unknown_page_has_a_way_out() {
    check("doc_near_miss", &["doc", "fragmentaton"]);
    check("doc_unknown", &["doc", "zzzz"]);
}

#[test]
fn colour_only_where_wanted() {
    let plain = oomph(["doc", "leak"]);
    assert!(!text(&plain.stdout).contains('\x1b'), "a pipe gets no colour");
    let coloured = oomph(["--color", "always", "doc", "leak"]);
    assert!(text(&coloured.stdout).contains("\x1b[1m# leak"), "--color always");
    let refused = oomph(["doc", "zzzz", "--color=always"]);
    assert!(text(&refused.stderr).contains("\x1b[") && refused.stdout.is_empty());
}

#[test]
fn completions_know_every_verb() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = oomph(["completions", shell]);
        assert_eq!(script.status.code(), Some(0));
        for verb in ["doc", "completions", "man"] {
            assert!(text(&script.stdout).contains(verb), "{shell} does not complete {verb}");
        }
    }
}

#[test]
fn man_pages_of_every_verb() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = command(&root()).arg("man").arg(folder.path()).output().expect("runs");
    assert_eq!(output.status.code(), Some(0));
    let mut names: Vec<_> = std::fs::read_dir(folder.path())
        .expect("readable")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["oomph-completions.1", "oomph-doc.1", "oomph-man.1", "oomph.1"]);
    let page = std::fs::read_to_string(folder.path().join("oomph-doc.1")).expect("written");
    assert!(page.contains("oomph\\-doc") && page.contains("Exit codes"));
}

/// `oomph ... | head -1` is a success: the reader has what it wanted.
#[test]
fn a_reader_may_leave_early() {
    let mut child = command(&root())
        .args(["completions", "zsh"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("ends");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}
