//! Generates the long tail, every symbol that a list in `symbols/` names and no source file implements, and the card
//! that is there by default.
//!
//! A list has one symbol a line, `#` starts a comment, and
//!
//! - `NAME` counts itself as unmodelled and returns success, or what the list has for a default,
//! - `NAME = 801` counts itself and returns that status,
//! - `NAME ~` has no effect on memory: it returns success and is not counted,
//! - `NAME -> OTHER` is another name of `OTHER`,
//! - `! default = 3` or `! default ~` on a line of its own sets what a bare name in the list means (`= 0` without it).
//!
//! A function counts as implemented when its definition follows a line `#[unsafe(no_mangle)]` anywhere under `src/`.
//! `NAME_ptsz` and `NAME_ptds` (the variants for the per-thread default stream) become other names of `NAME` where
//! that is implemented, `NAME` becomes one of `NAME_v2` and so on upwards only where a list says so.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a build fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Stands for a name on the line that sets a list's default.
const DEFAULT: &str = "!";

/// The list whose functions `cuGetProcAddress` finds.
const DRIVER_LIST: &str = "driver";

/// What a listed symbol becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Counted(i64),
    Silent,
    Alias(String),
}

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=symbols");
    println!("cargo::rerun-if-changed=build.rs");
    // Whoever asks the loader for the driver by its name gets the library that is already there, and what links
    // against this file in its place (Triton does) still names the driver.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");

    let implemented = implemented(&root.join("src"));
    let (listed, driver) = listed(&root.join("symbols"));
    let mut code = String::new();
    for (name, entry) in &listed {
        if !implemented.contains_key(name) {
            code.push_str(&function(name, &resolve(name, entry, &implemented, &listed)));
        }
    }
    code.push_str(&driver_table(&implemented, &listed, &driver));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("long_tail.rs"), code).expect("OUT_DIR can be written");
    fs::write(out.join("default_cards.json"), default_cards()).expect("OUT_DIR can be written");
}

/// The cards that are there when nobody lists any, from the catalogue. The library itself then needs neither the
/// catalogue nor a parser for its files.
fn default_cards() -> String {
    let card = oomph_card::Card::named("h200").expect("it is in the catalogue");
    serde_json::to_string(&[card]).expect("plain data")
}

/// Names of the functions that sources export, each with the file it stands in.
fn implemented(folder: &Path) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for path in files(folder, "rs") {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut marked = false;
        for line in text.lines().map(str::trim) {
            if line == "#[unsafe(no_mangle)]" {
                marked = true;
            } else if marked && let Some((_, rest)) = line.split_once("fn ") {
                let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if let Some(other) = found.insert(name.clone(), path.clone()) {
                    panic!("{name} is implemented in {} and in {}", other.display(), path.display());
                }
                marked = false;
            }
        }
    }
    found
}

/// What the lists say of each symbol, and which ones are the driver's.
fn listed(folder: &Path) -> (BTreeMap<String, Entry>, BTreeSet<String>) {
    let mut entries = BTreeMap::new();
    let mut driver = BTreeSet::new();
    for path in files(folder, "txt") {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut default = Entry::Counted(0);
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let place = || format!("{}:{}", path.display(), number + 1);
            if line.is_empty() {
                continue;
            }
            let (name, entry) = parse(line, &default).unwrap_or_else(|| panic!("{}: cannot read {line:?}", place()));
            if name == DEFAULT {
                default = entry;
            } else {
                if path.file_stem().is_some_and(|stem| stem == DRIVER_LIST) {
                    driver.insert(name.clone());
                }
                assert!(entries.insert(name, entry).is_none(), "{}: listed twice", place());
            }
        }
    }
    (entries, driver)
}

fn parse(line: &str, default: &Entry) -> Option<(String, Entry)> {
    let (is_default, line) = line.strip_prefix("! default").map_or((false, line), |rest| (true, rest));
    let words: Vec<&str> = is_default.then_some(DEFAULT).into_iter().chain(line.split_whitespace()).collect();
    let entry = match words[1..] {
        [] => default.clone(),
        ["~"] => Entry::Silent,
        ["=", status] => Entry::Counted(status.parse().ok()?),
        ["->", target] => Entry::Alias(target.to_owned()),
        _ => return None,
    };
    Some((words[0].to_owned(), entry))
}

/// Follows aliases to an implemented function, and turns per-thread variants of one into aliases.
fn resolve(
    name: &str,
    entry: &Entry,
    implemented: &BTreeMap<String, PathBuf>,
    listed: &BTreeMap<String, Entry>,
) -> Entry {
    if let Entry::Alias(target) = entry {
        if implemented.contains_key(target) {
            return entry.clone();
        }
        let next = listed.get(target).unwrap_or_else(|| panic!("{name} -> {target}: there is no {target}"));
        return resolve(target, next, implemented, listed);
    }
    for suffix in ["_ptsz", "_ptds"] {
        if let Some(base) = name.strip_suffix(suffix) {
            if implemented.contains_key(base) {
                return Entry::Alias(base.to_owned());
            }
            if let Some(base_entry) = listed.get(base) {
                return resolve(base, base_entry, implemented, listed);
            }
        }
    }
    entry.clone()
}

fn function(name: &str, entry: &Entry) -> String {
    match entry {
        Entry::Counted(status) => format!(
            "#[unsafe(no_mangle)] extern \"C\" fn {name}() -> i64 {{ \
             static TALLY: Tally = Tally::new({name:?}); TALLY.hit(); {status} }}\n"
        ),
        Entry::Silent => format!("#[unsafe(no_mangle)] extern \"C\" fn {name}() -> i64 {{ 0 }}\n"),
        Entry::Alias(target) => {
            let jump = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
                Ok("x86_64") => "jmp",
                Ok("aarch64") => "b",
                other => panic!("no jump instruction known for {other:?}: add one beside x86_64's"),
            };
            format!(
                "#[unsafe(no_mangle)] #[unsafe(naked)] extern \"C\" fn {name}() {{ \
                 core::arch::naked_asm!(\"{jump} {{target}}\", target = sym links::{target}) }}\n"
            )
        }
    }
}

/// The driver's functions by name, for `cuGetProcAddress`: those that are implemented and their other names, no more,
/// since a caller must be able to trust what it is handed.
fn driver_table(
    implemented: &BTreeMap<String, PathBuf>,
    listed: &BTreeMap<String, Entry>,
    driver: &BTreeSet<String>,
) -> String {
    let mut targets = BTreeSet::new();
    let mut table = BTreeMap::new();
    for (name, entry) in listed {
        let target = match resolve(name, entry, implemented, listed) {
            _ if implemented.contains_key(name) => name.clone(),
            Entry::Alias(target) => target,
            Entry::Counted(_) | Entry::Silent => continue,
        };
        if driver.contains(name) {
            table.insert(name.clone(), target.clone());
        }
        if driver.contains(name) || target != *name {
            targets.insert(target);
        }
    }
    let mut code = String::from("#[allow(clashing_extern_declarations)] mod links { unsafe extern \"C\" {\n");
    for target in &targets {
        writeln!(code, "pub(super) fn {target}();").expect("strings take what they are given");
    }
    code.push_str("} }\npub(crate) static DRIVER: &[(&str, unsafe extern \"C\" fn())] = &[\n");
    for (name, target) in &table {
        writeln!(code, "({name:?}, links::{target}),").expect("strings take what they are given");
    }
    code.push_str("];\n");
    code
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.expect("a readable folder").path()) {
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}
