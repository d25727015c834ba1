//! Tables that fit any width: the columns that matter least make room first.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// One column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) title: &'static str,
    /// What it takes; of the widest one, what it needs at least.
    pub(super) width: usize,
    /// How much it matters.
    pub(super) weight: u8,
    pub(super) is_right: bool,
    /// Whether it takes what the others leave.
    pub(super) is_wide: bool,
}

/// A column of text.
pub(super) const fn left(title: &'static str, width: usize, weight: u8) -> Column {
    Column { title, width, weight, is_right: false, is_wide: false }
}

/// A column of numbers.
pub(super) const fn right(title: &'static str, width: usize, weight: u8) -> Column {
    Column { title, width, weight, is_right: true, is_wide: false }
}

/// A column of text that takes what the others leave.
pub(super) const fn wide(title: &'static str, width: usize, weight: u8) -> Column {
    Column { title, width, weight, is_right: false, is_wide: true }
}

/// The width of each column in a table of a width; 0 of those that make room.
pub(super) fn fit(columns: &[Column], width: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = columns.iter().map(|column| column.width).collect();
    let total = |widths: &[usize]| widths.iter().map(|&width| if width > 0 { width + 1 } else { 0 }).sum::<usize>();
    while total(&widths) > width + 1 && widths.iter().filter(|&&width| width > 0).count() > 1 {
        let shown = columns.iter().enumerate().filter(|&(at, _)| widths[at] > 0);
        let Some((least, _)) = shown.min_by_key(|(_, column)| column.weight) else { break };
        widths[least] = 0;
    }
    let spare = (width + 1).saturating_sub(total(&widths));
    if let Some(at) = columns.iter().position(|column| column.is_wide).filter(|&at| widths[at] > 0) {
        widths[at] += spare;
    }
    widths
}

/// The heading of a table.
pub(super) fn heading(columns: &[Column], widths: &[usize]) -> String {
    let titles: Vec<String> = columns.iter().map(|column| column.title.to_owned()).collect();
    line(columns, widths, &titles)
}

/// One line of a table.
pub(super) fn line(columns: &[Column], widths: &[usize], cells: &[String]) -> String {
    let shown = columns.iter().zip(widths).zip(cells).filter(|((_, width), _)| **width > 0);
    let cells: Vec<String> = shown.map(|((column, width), text)| cell(text, *width, column.is_right)).collect();
    cells.join(" ")
}

/// A text in exactly so many columns.
pub(super) fn cell(text: &str, width: usize, is_right: bool) -> String {
    let text = cut(text, width);
    let padding = " ".repeat(width.saturating_sub(width_of(&text)));
    if is_right { padding + &text } else { text + &padding }
}

/// A text in at most so many columns.
pub(super) fn cut(text: &str, width: usize) -> String {
    // What moves the cursor has no place in a line.
    let text: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    if width_of(&text) <= width {
        return text;
    }
    let mut out = String::new();
    let mut taken = 0;
    for letter in text.chars() {
        let columns = letter.width().unwrap_or(0);
        if taken + columns + 1 > width {
            break;
        }
        taken += columns;
        out.push(letter);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

/// How many columns a text takes.
pub(super) fn width_of(text: &str) -> usize {
    text.width()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 3] = [right("PID", 5, 9), left("USER", 6, 1), wide("COMMAND", 10, 5)];

    #[test]
    fn what_matters_least_makes_room() {
        assert_eq!(fit(&COLUMNS, 40), [5, 6, 27]);
        assert_eq!(fit(&COLUMNS, 23), [5, 6, 10]);
        assert_eq!(fit(&COLUMNS, 22), [5, 0, 16]);
        assert_eq!(fit(&COLUMNS, 9), [5, 0, 0]);
        assert_eq!(fit(&COLUMNS, 0), [5, 0, 0]);
    }

    #[test]
    fn every_line_has_the_width_of_its_table() {
        for width in 5..60 {
            let widths = fit(&COLUMNS, width);
            let cells = ["123".to_owned(), "näme of a user".to_owned(), "日本語 のコマンド名 です\x1b[2J".to_owned()];
            let text = line(&COLUMNS, &widths, &cells);
            assert!(width_of(&text) <= width, "{width}: {text:?}");
            assert_eq!(width_of(&text), width_of(&heading(&COLUMNS, &widths)), "{width}");
            assert!(!text.contains('\x1b'));
        }
    }

    #[test]
    fn long_texts_end_in_a_sign() {
        assert_eq!([cut("train.py", 8), cut("train.py", 6), cut("train.py", 1)], ["train.py", "train…", "…"]);
        assert_eq!((cut("日本語", 4), cut("x", 0)), ("日…".to_owned(), String::new()));
        assert_eq!((cell("7", 3, true), cell("7", 3, false)), ("  7".to_owned(), "7  ".to_owned()));
    }
}
