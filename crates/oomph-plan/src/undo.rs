//! Takes back what a script did to the user's files, from the notes that the Python side made before each change.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// One change.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Entry {
    /// A file or folder that was not there before.
    Made { made: PathBuf, kind: Kind },
    /// A folder that was removed.
    Removed { removed: PathBuf },
    /// Something that was given another name.
    Moved { moved: PathBuf, to: PathBuf },
    /// A file that was copied before it was changed, replaced or removed.
    Kept { kept: PathBuf, aside: PathBuf },
    /// A file that got a second name before it was replaced or removed.
    Linked { linked: PathBuf, aside: PathBuf },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    File,
    Folder,
}

/// Goes through the notes in `folder` from the last to the first. What cannot be taken back is left: the notes were
/// made before each change, which may have failed.
pub(crate) fn undo(folder: &Path) {
    let text = fs::read_to_string(folder.join("journal.jsonl")).unwrap_or_default();
    let entries: Vec<Entry> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    for entry in entries.iter().rev() {
        let _ = match entry {
            Entry::Made { made, kind: Kind::File } => fs::remove_file(made),
            // Only if it is empty: what is in it and in no note is somebody else's.
            Entry::Made { made, kind: Kind::Folder } => fs::remove_dir(made),
            Entry::Removed { removed } => fs::create_dir(removed),
            Entry::Moved { moved, to } if moved.symlink_metadata().is_err() => fs::rename(to, moved),
            Entry::Moved { .. } => Ok(()),
            Entry::Kept { kept, aside } => put_back(kept, aside),
            // One that is still there under its own name loses the second.
            Entry::Linked { linked, aside } if is_same(linked, aside) => fs::remove_file(aside),
            Entry::Linked { linked, aside } => fs::rename(aside, linked),
        };
    }
}

/// Whether two names are one file.
fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.symlink_metadata().map(|file| (file.dev(), file.ino())).ok();
    identity(one).is_some_and(|found| identity(other) == Some(found))
}

/// Puts a file back as it was; one that nobody touched in the end stays the file it is.
fn put_back(kept: &Path, aside: &Path) -> std::io::Result<()> {
    let old = aside.symlink_metadata()?;
    if let Ok(now) = kept.symlink_metadata()
        && (now.len(), now.mtime(), now.mtime_nsec()) == (old.len(), old.mtime(), old.mtime_nsec())
    {
        return Ok(());
    }
    if old.is_symlink() {
        let _ = fs::remove_file(kept);
        return std::os::unix::fs::symlink(fs::read_link(aside)?, kept);
    }
    fs::copy(aside, kept)?;
    File::options().write(true).open(kept)?.set_modified(old.modified()?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The notes of a run that wrote a log, replaced a result and threw an old checkpoint away.
    #[test]
    fn a_tree_is_as_it_was() {
        let (tree, notes) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| tree.path().join(name);
        let aside = |name: &str| notes.path().join(name);
        fs::write(aside("kept-1"), "old result").unwrap();
        fs::write(aside("kept-2"), "weights").unwrap();
        // What the run left.
        fs::create_dir_all(at("logs/inner")).unwrap();
        fs::write(at("logs/inner/log.txt"), "new").unwrap();
        fs::write(at("result.csv"), "changed result").unwrap();
        fs::write(at("stranger.txt"), "not in the notes").unwrap();
        fs::write(at("b.txt"), "was a.txt").unwrap();
        fs::write(at("best.pt"), "hollow").unwrap();
        fs::write(aside("kept-3"), "trained for a week").unwrap();
        fs::write(at("last.pt"), "never replaced").unwrap();
        fs::hard_link(at("last.pt"), at(".oomph-kept-4")).unwrap();
        let entries = [
            json!({ "made": at("logs"), "kind": "folder" }),
            json!({ "made": at("logs/inner"), "kind": "folder" }),
            json!({ "made": at("logs/inner/log.txt"), "kind": "file" }),
            json!({ "kept": at("result.csv"), "aside": aside("kept-1") }),
            json!({ "kept": at("old/model.pt"), "aside": aside("kept-2") }),
            json!({ "removed": at("old") }),
            json!({ "linked": at("best.pt"), "aside": aside("kept-3") }),
            json!({ "linked": at("last.pt"), "aside": at(".oomph-kept-4") }),
            json!({ "moved": at("a.txt"), "to": at("b.txt") }),
            json!({ "made": at("never.txt"), "kind": "file" }),
        ];
        let lines: Vec<String> = entries.iter().map(ToString::to_string).collect();
        fs::write(aside("journal.jsonl"), lines.join("\n") + "\nhalf a li").unwrap();
        undo(notes.path());
        let mut names: Vec<_> = fs::read_dir(tree.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["a.txt", "best.pt", "last.pt", "old", "result.csv", "stranger.txt"]);
        assert_eq!(fs::read_to_string(at("best.pt")).unwrap(), "trained for a week");
        assert_eq!(fs::read_to_string(at("result.csv")).unwrap(), "old result");
        assert_eq!(fs::read_to_string(at("old/model.pt")).unwrap(), "weights");
        assert_eq!(fs::read_to_string(at("a.txt")).unwrap(), "was a.txt");
    }

    #[test]
    fn a_folder_with_something_else_in_it_stays() {
        let (tree, notes) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let made = tree.path().join("made");
        fs::create_dir(&made).unwrap();
        fs::write(made.join("precious"), "moved here by somebody else").unwrap();
        let entry = json!({ "made": made, "kind": "folder" });
        fs::write(notes.path().join("journal.jsonl"), entry.to_string()).unwrap();
        undo(notes.path());
        assert!(made.join("precious").exists());
    }
}
