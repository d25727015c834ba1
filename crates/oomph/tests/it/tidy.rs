//! The style guide, executable. Each rule says why it exists; lints of rustc and clippy cover the rest.

use std::path::{Path, PathBuf};

use crate::harness::root;

/// Folders that hold nothing of ours.
const SKIPPED: [&str; 7] = ["target", "node_modules", ".git", ".venv", "dist", "__pycache__", "corpus"];

/// Which workspace crates a crate may depend on: arrows point down, and feature crates never import one another.
const ARROWS: [(&str, &[&str]); 14] = [
    ("oomph-trace", &[]),
    ("oomph-check", &[]),
    ("oomph-heap", &["oomph-trace"]),
    ("oomph-explain", &["oomph-heap", "oomph-trace"]),
    ("oomph-box", &[]),
    ("oomph-device", &[]),
    ("oomph-card", &[]),
    // What the two libraries that are loaded into processes know of the other libraries there.
    ("oomph-elf", &[]),
    ("oomph-job", &["oomph-box", "oomph-trace"]),
    // Loaded into somebody else's process in place of the CUDA libraries: it knows what a card is, and little else.
    ("oomph-hollow", &["oomph-card", "oomph-elf"]),
    // Loaded into a real job: it writes the black box, and knows little else.
    ("oomph-recorder", &["oomph-box", "oomph-elf"]),
    // Loaded into every process of a plan in front of libc: it stands alone.
    ("oomph-layer", &[]),
    ("oomph-plan", &["oomph-card", "oomph-heap", "oomph-job", "oomph-trace"]),
    (
        "oomph",
        &[
            "oomph-box",
            "oomph-check",
            "oomph-device",
            "oomph-explain",
            "oomph-heap",
            "oomph-job",
            "oomph-plan",
            "oomph-trace",
        ],
    ),
];

/// The only places that may hold `unsafe`: two files that map a file, the crates that are a C interface throughout, and
/// what happens between fork and exec.
const UNSAFE_PLACES: [&str; 11] = [
    "benches/src/plain.rs",
    "crates/oomph-trace/src/input.rs",
    // Memory that processes share, and the processor's counter.
    "crates/oomph-box/src/clock.rs",
    "crates/oomph-box/src/memory.rs",
    "crates/oomph-elf/",
    "crates/oomph-hollow/",
    "crates/oomph-layer/",
    "crates/oomph-recorder/",
    // Between fork and exec.
    "crates/oomph-job/src/guard.rs",
    "crates/oomph-job/src/process.rs",
    // Signals, and waiting for a process that may end at any time.
    "crates/oomph-job/src/real.rs",
];

/// Longer files hide more than one idea.
const LINES_MAX: usize = 600;

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the repository").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && !path.is_symlink() {
            if !SKIPPED.iter().any(|skipped| name == *skipped) {
                walk(&path, found);
            }
        } else if path.is_file() {
            found.push(path);
        }
    }
}

/// Every text file with one of these endings, by path from the root.
fn sources(endings: &[&str]) -> Vec<(String, String)> {
    let root = root();
    let mut paths = Vec::new();
    walk(&root, &mut paths);
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let name = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned();
        if endings.iter().any(|ending| name.ends_with(ending))
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            files.push((name, text));
        }
    }
    assert!(!files.is_empty(), "nothing ends in {endings:?}");
    files
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// Code without comments and string literals, roughly: enough to find keywords and macros.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.split("//").next().unwrap_or_default()))
        .filter(|(_, line)| !line.trim_start().starts_with('#') && !line.contains('"'))
}

#[test]
fn crate_arrows_point_down() {
    let mut faults = Vec::new();
    for (manifest, text) in sources(&["/Cargo.toml"]).iter().filter(|(name, _)| name.starts_with("crates/")) {
        let name = manifest.split('/').nth(1).unwrap_or_default();
        let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == name) else {
            faults.push(format!("{manifest}: add crate {name} to the list of arrows"));
            continue;
        };
        let dependencies = text.split("[dependencies]").nth(1).unwrap_or_default();
        let dependencies = dependencies.split("\n[").next().unwrap_or_default();
        for line in dependencies.lines() {
            let dependency = line.split([' ', '=', '.']).next().unwrap_or_default();
            if dependency.starts_with("oomph") && !allowed.contains(&dependency) {
                faults.push(format!("{manifest}: {name} must not depend on {dependency}"));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn every_rust_file_says_what_it_is() {
    let silent = sources(&[".rs"]).into_iter().filter(|(_, text)| !text.starts_with("//! "));
    assert_none(&silent.map(|(name, _)| format!("{name}: does not open with '//! '")).collect::<Vec<_>>());
}

#[test]
fn files_are_short() {
    let long = sources(&[".rs", ".py", ".ts", ".js", ".mjs"]).into_iter().filter_map(|(name, text)| {
        let lines = text.lines().count();
        (lines > LINES_MAX).then(|| format!("{name}: {lines} lines, at most {LINES_MAX}"))
    });
    assert_none(&long.collect::<Vec<_>>());
}

#[test]
fn nothing_names_one_machine() {
    // Spelled in pieces so that this file passes its own test.
    let places = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/User", "s/")];
    let endings = [".rs", ".py", ".ts", ".js", ".mjs", ".md", ".toml", ".json", ".yml", "Makefile", "run", ".snap"];
    let mut faults = Vec::new();
    for (name, text) in sources(&endings) {
        for (index, line) in text.lines().enumerate() {
            if places.iter().any(|place| line.contains(place)) {
                faults.push(format!("{name}:{}: names a folder of one machine", index + 1));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn unsafe_stays_where_it_is_known() {
    let mut faults = Vec::new();
    for (name, text) in sources(&[".rs"]) {
        for (line, code) in code_lines(&text) {
            let is_unsafe = code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "unsafe");
            if is_unsafe && !UNSAFE_PLACES.iter().any(|place| name.starts_with(place)) {
                faults.push(format!("{name}:{line}: unsafe outside the list"));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn only_the_command_prints() {
    let mut faults = Vec::new();
    for (name, text) in sources(&[".rs"]) {
        let library = name.starts_with("crates/oomph-") && name.contains("/src/");
        for (line, code) in code_lines(&text).filter(|_| library) {
            if ["println!", "eprintln!", "print!", "eprint!", "dbg!"].iter().any(|printing| code.contains(printing)) {
                faults.push(format!("{name}:{line}: only crates/oomph prints"));
            }
        }
    }
    assert_none(&faults);
}
