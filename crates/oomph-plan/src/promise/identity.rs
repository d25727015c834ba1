//! Which job a command line is: the same script with the same arguments in the same folder, whatever interpreter runs it.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A job as the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The folder it is started from.
    folder: String,
    /// `-m` and a module, or the path of a script, or a program; then its arguments.
    words: Vec<String>,
}

impl Identity {
    /// The job in `-m MODULE ARGS` (`module`) or `SCRIPT ARGS` (`words`), started from `folder`.
    #[must_use]
    pub fn new(module: &[OsString], words: &[OsString], folder: &Path) -> Self {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let text = |word: &OsString| word.to_string_lossy().into_owned();
        let words = if module.is_empty() {
            // `python train.py` is the same job as `train.py`.
            let is_python = words.first().is_some_and(|word| is_interpreter(word, &folder));
            let words = &words[usize::from(is_python)..];
            let first = words.first().map(|word| place(word, &folder));
            first.into_iter().chain(words.iter().skip(1).map(text)).collect()
        } else {
            std::iter::once("-m".to_owned()).chain(module.iter().map(text)).collect()
        };
        Self { folder: folder.to_string_lossy().into_owned(), words }
    }

    /// The same job with what makes it fit.
    #[must_use]
    pub fn fitted(&self) -> Self {
        let mut words = self.words.clone();
        words.push("--fit".to_owned());
        Self { folder: self.folder.clone(), words }
    }

    /// A short name for its files: what people call it, and a number that tells it from others.
    pub(super) fn key(&self) -> String {
        let mut sum = crc32fast::Hasher::new();
        for part in std::iter::once(&self.folder).chain(&self.words) {
            sum.update(part.as_bytes());
            sum.update(&[0]);
        }
        let called = self.words.iter().find(|word| *word != "-m").map_or("", String::as_str);
        let name = Path::new(called).file_stem().unwrap_or_default().to_string_lossy();
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let name: String = name.chars().filter(is_plain).take(40).collect();
        format!("{name}-{:08x}", sum.finalize())
    }
}

fn is_interpreter(word: &OsStr, folder: &Path) -> bool {
    let name = Path::new(word).file_name().and_then(OsStr::to_str).unwrap_or_default();
    let is_script = Path::new(name).extension().is_some_and(|extension| extension == "py");
    name.starts_with("python") && !is_script && (word == name || !folder.join(word).is_dir())
}

/// Where a script lies; other words stand for themselves.
fn place(word: &OsStr, folder: &Path) -> String {
    let path = folder.join(word).canonicalize();
    path.map_or_else(|_| word.to_string_lossy().into_owned(), |path| path.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(folder: &Path, line: &str) -> Identity {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        match words.split_first() {
            Some((first, rest)) if first == "-m" => Identity::new(rest, &[], folder),
            _ => Identity::new(&[], &words, folder),
        }
    }

    #[test]
    fn the_same_job_written_otherwise_is_the_same() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let home = folder.path();
        std::fs::create_dir(home.join("sub")).expect("ours");
        std::fs::write(home.join("train.py"), "").expect("ours");
        let plain = identity(home, "train.py --batch 8");
        let absolute = format!("{}/sub/../train.py --batch 8", home.display());
        for line in ["python train.py --batch 8", "./train.py --batch 8", "python3.12 train.py --batch 8", &absolute] {
            assert_eq!(identity(home, line), plain, "{line}");
        }
        for line in ["train.py --batch 9", "train.py", "-m train --batch 8", "torchrun train.py --batch 8"] {
            assert_ne!(identity(home, line), plain, "{line}");
        }
        // Relative paths among its arguments mean something else in another folder.
        assert_ne!(identity(&home.join("sub"), "../train.py --batch 8"), plain);
        let key = plain.key();
        assert!(key.starts_with("train-") && key.len() == 14, "{key}");
    }

    #[test]
    fn words_do_not_run_together() {
        let folder = Path::new("/");
        assert_ne!(identity(folder, "x.py ab c").key(), identity(folder, "x.py a bc").key());
        assert_eq!(identity(folder, "-m pkg.train").key().split('-').next(), Some("pkg"));
    }
}
