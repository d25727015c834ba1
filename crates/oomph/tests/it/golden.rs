//! What commands print: exit code, stdout and stderr as reviewed snapshots.

use std::io::Write as _;

use insta::assert_snapshot;

use crate::harness::{command, corpus, oomph, root, text, transcript};

fn check(name: &str, args: &[&str]) {
    let shown = format!("$ oomph {}\n{}", args.join(" "), transcript(&oomph(args)));
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        assert_snapshot!(name, shown);
    });
}

#[test]
fn doc() {
    let listing = oomph(["doc"]);
    let (others, rules) = text(&listing.stdout).split_once("Rules of oomph check\n").expect("rules come last");
    assert!(rules.contains("\n  unused-ignore "), "{rules}");
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        assert_snapshot!("doc_list", others);
    });
    check("doc_kind", &["doc", "verdicts"]);
    check("doc_page", &["doc", "leak"]);
    check("doc_json", &["doc", "device", "--json"]);
}

#[test]
fn unknown_page_has_a_way_out() {
    check("doc_near_miss", &["doc", "fragmentaton"]);
    check("doc_unknown", &["doc", "zzzz"]);
}

#[test]
fn bad_options_have_a_way_out() {
    check("no_verb", &["explian", "snapshot.pickle"]);
    check("bad_size", &["replay", "snapshot.pickle", "--memory", "24 apples"]);
    check("bad_option_as_json", &["explain", "--json", "--tpo", "3", "snapshot.pickle"]);
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
        for verb in ["check", "plan", "run", "explain", "replay", "top", "doc", "lsp", "completions", "man"] {
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
    assert_eq!(
        names,
        [
            "oomph-check.1",
            "oomph-completions.1",
            "oomph-doc.1",
            "oomph-explain.1",
            "oomph-lsp.1",
            "oomph-man.1",
            "oomph-plan.1",
            "oomph-replay.1",
            "oomph-run.1",
            "oomph-top.1",
            "oomph.1"
        ]
    );
    let page = std::fs::read_to_string(folder.path().join("oomph-explain.1")).expect("written");
    assert!(page.contains("oomph\\-explain") && page.contains("allocated") && page.contains("Exit codes"));
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

#[test]
fn explain_as_text() {
    check("explain_leak", &["explain", &corpus("oom_loss_kept_with_graph")]);
    check("explain_fragmentation", &["explain", &corpus("oom_fragmentation"), "--top", "3"]);
    check("explain_healthy", &["explain", &corpus("run_mlp"), "--top", "3"]);
}

#[test]
fn explain_as_json() {
    check("explain_json", &["explain", &corpus("oom_growing_cache"), "--json", "--top", "3"]);
}

#[test]
fn explain_several_ranks() {
    let ranks = [&corpus("oom_loss_kept_with_graph"), &corpus("run_mlp"), &corpus("oom_growing_cache")];
    let output = oomph(["explain", ranks[0], ranks[1], ranks[2], "--top", "3"]);
    let head = text(&output.stdout).lines().take(15).collect::<Vec<_>>().join("\n") + "\n";
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        assert_snapshot!("explain_ranks", head);
    });
    let json = oomph(["explain", ranks[1], ranks[2], "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["verdict"]["class"], "growth");
    assert_eq!((&json["ranks"][0]["explained"], &json["ranks"][1]["explained"]), (&false.into(), &true.into()));
}

/// The log of a job with two ranks that died, as torchrun writes it.
const LOG: &str = "samples/died.log";

#[test]
fn explain_a_log() {
    check("explain_log", &["explain", LOG]);
    check("explain_log_has_no_page", &["explain", LOG, "--html", "page.html"]);
}

#[test]
fn explain_what_comes_through_a_pipe() {
    let feed = |bytes: &[u8]| {
        let mut child = command(&root())
            .args(["explain", "-", "--json"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("runs");
        child.stdin.take().expect("a pipe").write_all(bytes).expect("read");
        let output = child.wait_with_output().expect("ends");
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON")
    };
    let log = feed(&std::fs::read(root().join(LOG)).expect("the sample is there"));
    let found = (&log["verdict"]["class"], &log["source"], &log["verdict"]["proof"], &log["verdict"]["line"]);
    assert_eq!(found, (&"too_big".into(), &"log".into(), &serde_json::Value::Null, &61.into()));
    let snapshot = feed(&std::fs::read(root().join(corpus("oom_growing_cache"))).expect("the corpus is there"));
    assert_eq!((&snapshot["verdict"]["class"], &snapshot["source"]), (&"growth".into(), &"torch_snapshot".into()));
}

/// Whatever is blamed is in the table of lines, in text and in JSON.
#[test]
fn the_blamed_line_is_in_the_table() {
    for file in ["oom_loss_kept_with_graph", "oom_batch_too_big", "oom_single_tensor_too_big", "run_leaky_infer"] {
        let output = oomph(["explain", &corpus(file), "--json", "--top", "1"]);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let blamed = (&json["verdict"]["file"], &json["verdict"]["line"]);
        let lines = json["lines"].as_array().expect("lines");
        assert!(lines.iter().any(|line| (&line["file"], &line["line"]) == blamed), "{file}: {blamed:?} {lines:?}");
    }
}

#[test]
fn explain_asked_for_what_is_not_there() {
    check("explain_no_device", &["explain", &corpus("run_mlp"), "--device", "7"]);
    check("explain_no_event", &["explain", &corpus("run_mlp"), "--at", "4000000000"]);
}

#[test]
fn replay_as_text() {
    check("replay_healthy", &["replay", &corpus("run_gpt2_ragged")]);
    check("replay_oom", &["replay", &corpus("oom_fragmentation")]);
    check("replay_smaller_card", &["replay", &corpus("run_gpt2_ragged"), "--memory", "8GiB"]);
    check("replay_settings", &["replay", &corpus("run_gpt2_ragged"), "--conf", "max_split_size_mb:64"]);
}

#[test]
fn replay_as_json() {
    check("replay_json", &["replay", &corpus("special_streams"), "--policy", "ideal,native", "--json"]);
}

#[test]
fn replay_refuses_what_pytorch_refuses() {
    check("replay_bad_conf", &["replay", &corpus("run_mlp"), "--conf", "max_split_size_mb:1"]);
    check("replay_unknown_key", &["replay", &corpus("run_mlp"), "--conf", "max_split:64"]);
    check("replay_async", &["replay", &corpus("run_mlp"), "--conf", "backend:cudaMallocAsync"]);
    check("replay_unknown_policy", &["replay", &corpus("run_mlp"), "--policy", "natve"]);
    check("replay_no_device", &["replay", &corpus("run_mlp"), "--device", "7"]);
}

#[test]
fn plan_of_what_is_not_there() {
    check("plan_no_card", &["plan", "--gpu", "rtx_4900", "train.py"]);
    check("plan_no_script", &["plan", "nowhere/train.py", "--batch", "4"]);
    check("plan_small_card", &["plan", "--memory", "100MiB", "train.py"]);
    check("plan_nothing", &["plan"]);
    check("plan_folder", &["plan", "corpus"]);
    check("plan_no_option", &["plan", "--step", "5", "train.py"]);
    check("plan_bad_memory", &["plan", "--memory", "24 apples", "train.py"]);
    check("plan_no_rank", &["plan", "--ranks", "8", "--nproc-per-node", "8", "train.py"]);
    check("plan_no_place", &["plan", "--html", "nowhere/plan.html", "examples/train.py"]);
    check("plan_no_python", &["plan", "--python", "nowhere/python", "examples/train.py"]);
}

/// Tables are for terminals of 80 columns.
#[test]
fn text_fits_a_terminal() {
    for file in ["oom_loss_kept_with_graph", "oom_batch_too_big", "run_llama-1b", "special_graph"] {
        for verb in ["explain", "replay"] {
            let output = oomph([verb, &corpus(file)]);
            for line in text(&output.stdout).lines() {
                assert!(line.chars().count() <= 80, "{verb} {file}: {} columns: {line}", line.chars().count());
            }
        }
    }
}

/// What `--save` and `--export` write is the same trace: every verb gives the same answer about it.
#[test]
fn saved_traces_tell_the_same() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (saved, exported) = (folder.path().join("run.oomph"), folder.path().join("run.pickle"));
    let original = corpus("oom_outputs_kept_in_list");
    let output = command(&root())
        .args(["explain", &original, "--json", "--save"])
        .arg(&saved)
        .arg("--export")
        .arg(&exported)
        .output()
        .expect("runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for copy in [&saved, &exported] {
        for verb in ["explain", "replay"] {
            let again = command(&root()).args([verb, "--json"]).arg(copy).output().expect("runs");
            let wanted = oomph([verb, "--json", &original]);
            assert_eq!(text(&again.stdout), text(&wanted.stdout), "{verb} {}", copy.display());
            assert_eq!(text(&again.stderr), "");
        }
    }
}

#[test]
fn pages_are_written_whole() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = folder.path().join("report.html");
    let output = command(folder.path())
        .arg("explain")
        .arg(root().join(corpus("oom_growing_cache")))
        .args(["--html", "report.html"])
        .output()
        .expect("runs");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), "wrote report.html\n"));
    let html = std::fs::read_to_string(&page).expect("written");
    assert!(html.to_lowercase().starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"));
    assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 1, "a draft was left behind");
}
