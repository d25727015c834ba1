//! The source around the lines a page names.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

/// Gives the text of a source file by the path the interpreter used, or nothing where there is none to show.
pub type ReadSource<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Lines shown before and after the one named.
const LINES_AROUND: usize = 3;
/// Longer lines are cut: generated code has lines of megabytes.
const LINE_CHARS_MAX: usize = 240;

/// A few lines of a file around one of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Snippet {
    /// File as the interpreter names it.
    pub file: String,
    /// The line it was taken for.
    pub line: u32,
    /// Number of the first of `lines`.
    pub first_line: u32,
    /// The text of the lines, without line ends.
    pub lines: Vec<String>,
}

/// The source around each of these places, once each and in their order. Places whose file cannot be read, or is
/// shorter than it was, have none.
#[must_use]
pub fn snippets<'a>(places: impl IntoIterator<Item = (&'a str, u32)>, read: &ReadSource) -> Vec<Snippet> {
    let mut texts: FxHashMap<&str, Option<String>> = FxHashMap::default();
    let mut seen = FxHashSet::default();
    let new_places = places.into_iter().filter(|&place| seen.insert(place));
    new_places
        .filter_map(|(file, line)| {
            let text = texts.entry(file).or_insert_with(|| read(file));
            snippet(file, line, text.as_deref()?)
        })
        .collect()
}

fn snippet(file: &str, line: u32, text: &str) -> Option<Snippet> {
    let at = (line as usize).checked_sub(1)?;
    text.lines().nth(at)?;
    let first = at.saturating_sub(LINES_AROUND);
    let lines = text.lines().skip(first).take(at - first + 1 + LINES_AROUND).map(shortened).collect();
    Some(Snippet { file: file.to_owned(), line, first_line: first as u32 + 1, lines })
}

fn shortened(line: &str) -> String {
    let mut chars = line.chars();
    let kept: String = chars.by_ref().take(LINE_CHARS_MAX).collect();
    if chars.next().is_some() { format!("{kept}…") } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: u32, text: &str) -> Option<(u32, Vec<String>)> {
        snippet("train.py", line, text).map(|snippet| (snippet.first_line, snippet.lines))
    }

    #[test]
    fn a_snippet_stays_inside_its_file() {
        let text = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let lines = |letters: &str| letters.chars().map(String::from).collect::<Vec<_>>();
        assert_eq!(of(1, text), Some((1, lines("abcd"))));
        assert_eq!(of(5, text), Some((2, lines("bcdefgh"))));
        assert_eq!(of(8, text), Some((5, lines("efgh"))));
        assert_eq!(of(9, text), None, "the file is shorter than it was");
        assert_eq!(of(0, text), None, "frames of C++ have no line");
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        let (_, lines) = of(1, &"ä".repeat(LINE_CHARS_MAX + 1)).expect("the line is there");
        assert_eq!(lines[0].chars().count(), LINE_CHARS_MAX + 1);
        assert!(lines[0].ends_with('…'));
    }

    #[test]
    fn each_file_is_read_once_and_each_place_shown_once() {
        let reads = std::cell::RefCell::new(Vec::new());
        let read = |path: &str| {
            reads.borrow_mut().push(path.to_owned());
            (path == "a.py").then(|| "one\ntwo".to_owned())
        };
        let found = snippets([("a.py", 1), ("a.py", 2), ("b.py", 1), ("a.py", 1), ("b.py", 2)], &read);
        assert_eq!(
            found.iter().map(|found| (found.file.as_str(), found.line)).collect::<Vec<_>>(),
            [("a.py", 1), ("a.py", 2)]
        );
        assert_eq!(*reads.borrow(), ["a.py", "b.py"]);
    }
}
