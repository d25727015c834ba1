//! Bad input: one clear error, exit code 2, nothing on stdout, nothing written, no panic.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::harness::{command, corpus, root, text};

/// A folder with one bad file in it, and the path of that file.
struct Lair {
    folder: tempfile::TempDir,
    file: PathBuf,
}

fn lair(name: &str, bytes: &[u8]) -> Lair {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join(name);
    std::fs::File::create(&file).and_then(|mut file| file.write_all(bytes)).expect("written");
    Lair { folder, file }
}

/// Every verb that reads a file refuses this one, and the error says all of `words`.
fn check_refused(file: &Path, folder: &Path, words: &[&str]) {
    let before = listing(folder);
    let html = folder.join("report.html");
    let (html, saved, exported) = (html.to_string_lossy(), folder.join("out.oomph"), folder.join("out.pickle"));
    let (saved, exported) = (saved.to_string_lossy(), exported.to_string_lossy());
    let runs: [&[&str]; 4] = [
        &["explain"],
        &["explain", "--json", "--html", &html, "--save", &saved, "--export", &exported],
        &["replay"],
        &["replay", "--json", "--validate"],
    ];
    for args in runs {
        let output = command(folder).args(args).arg(file).output().expect("runs");
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        check_stdout(args, text(&output.stdout), stderr);
        assert_eq!(stderr.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{args:?}: {stderr}");
        assert!(stderr.lines().count() <= 2, "{args:?} says more than an error and a hint: {stderr}");
        assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
        for word in words {
            assert!(stderr.contains(word), "{args:?} does not say '{word}': {stderr}");
        }
        assert_eq!(listing(folder), before, "{args:?} left something behind");
    }
}

/// Nothing but, where JSON was asked for, the error.
fn check_stdout(args: &[&str], stdout: &str, stderr: &str) {
    if !args.contains(&"--json") {
        assert_eq!(stdout, "", "{args:?} wrote to stdout");
        return;
    }
    let answer: serde_json::Value = serde_json::from_str(stdout).expect("JSON");
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(stderr.contains(message), "{args:?}: {stdout} is not what stderr says: {stderr}");
    assert_ne!(answer["error"]["hint"].is_null(), stderr.contains("hint: "), "{args:?}: {stdout} {stderr}");
}

fn listing(folder: &Path) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> =
        std::fs::read_dir(folder).expect("readable").flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    names
}

fn check_bytes(name: &str, bytes: &[u8], words: &[&str]) {
    let lair = lair(name, bytes);
    check_refused(&lair.file, lair.folder.path(), &[&[name], words].concat());
}

/// The collection of bad files that the reader's own tests use, through the whole command.
#[test]
fn every_hostile_file_of_the_corpus() {
    let mut count = 0;
    for entry in std::fs::read_dir(root().join("corpus/hostile")).expect("the corpus is there").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        check_bytes(&name, &std::fs::read(entry.path()).expect("readable"), &[]);
        count += 1;
    }
    assert!(count > 50, "only {count} files");
}

fn real_snapshot() -> Vec<u8> {
    std::fs::read(root().join(corpus("oom_single_tensor_too_big"))).expect("the corpus is there")
}

#[test]
fn missing_file() {
    let lair = lair("other", b"");
    check_refused(&lair.folder.path().join("nowhere.pickle"), lair.folder.path(), &["nowhere.pickle"]);
}

#[test]
fn folder_instead_of_file() {
    let lair = lair("other", b"");
    let nested = lair.folder.path().join("nested");
    std::fs::create_dir(&nested).expect("made");
    check_refused(&nested, lair.folder.path(), &["nested"]);
}

#[test]
fn empty_file() {
    check_bytes("empty.pickle", b"", &[]);
}

#[test]
fn text_file() {
    check_bytes("notes.txt", b"Traceback (most recent call last):\n  CUDA out of memory\n", &[]);
}

#[test]
fn truncated_gzip() {
    let whole = real_snapshot();
    check_bytes("cut.pickle.gz", &whole[..whole.len() / 2], &[]);
}

#[test]
fn gzip_of_nothing() {
    check_bytes("head.pickle.gz", &real_snapshot()[..12], &[]);
}

#[test]
fn torch_save_archive() {
    check_bytes("model.pt", b"PK\x03\x04\x00\x00\x08\x08\x00\x00rest of a zip archive", &[]);
}

#[test]
fn pickle_that_calls_code() {
    // What `pickle.dumps(os.system)`-style attacks are made of: GLOBAL os system, a tuple, REDUCE.
    check_bytes("evil.pickle", b"\x80\x02cos\nsystem\n(X\x04\x00\x00\x00true\x85R.", &[]);
}

#[test]
fn pickle_of_something_else() {
    // {"weights": [1, 2]}: sound, but not a memory snapshot.
    check_bytes("other.pickle", b"\x80\x04}\x8c\x07weights\x94]\x94(K\x01K\x02es.", &[]);
}

#[test]
fn cyclic_pickle() {
    // A list that holds itself.
    check_bytes("cycle.pickle", b"\x80\x04]\x94h\x00a.", &[]);
}

#[test]
fn endless_nesting() {
    check_bytes("deep.pickle", &[b"\x80\x04".as_slice(), &vec![b']'; 1_000_000]].concat(), &[]);
}

#[test]
fn a_length_of_exabytes() {
    // BINUNICODE8 with a length no machine has.
    check_bytes("huge.pickle", b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7fabc", &[]);
}

#[test]
fn output_folder_that_is_not_there() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let report = folder.path().join("nowhere").join("report.html");
    let output = command(&root())
        .args(["explain", &corpus("oom_single_tensor_too_big"), "--html"])
        .arg(&report)
        .output()
        .expect("runs");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    assert!(text(&output.stderr).contains("report.html") && text(&output.stderr).contains("hint: "));
    assert!(listing(folder.path()).is_empty());
}
