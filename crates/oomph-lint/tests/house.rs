//! The rooms of the house know only those before them, and only the first knows ruff.

use std::path::Path;

const ROOMS: [&str; 10] = ["syntax", "ir", "flow", "domain", "torch", "hints", "interp", "facts", "rules", "lint"];

fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("the source is there").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).expect("source is text");
            found.push((path.to_string_lossy().into_owned(), text));
        }
    }
}

#[test]
fn rooms_know_only_those_before_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (at, room) in ROOMS.iter().enumerate() {
        let mut files = Vec::new();
        sources(&root.join(room), &mut files);
        for (name, text) in files {
            for later in &ROOMS[at + 1..] {
                assert!(!text.contains(&format!("crate::{later}::")), "{name} knows {later}");
            }
            assert!(at == 0 || !text.contains("ruff_"), "{name} knows ruff");
        }
    }
}
