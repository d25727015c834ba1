//! Tables that fit a terminal.

use unicode_width::UnicodeWidthStr;

/// How a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Numbers.
    Right,
    /// Text.
    Left,
    /// Text whose end matters most, such as a path: it loses its beginning when there is no room.
    LeftKeepEnd,
}

/// Lays rows out under a heading, indented by two, no wider than `width` columns; the last column gives way.
#[must_use]
pub fn table(heading: &[(&str, Align)], rows: &[Vec<String>], width: usize) -> String {
    let mut widths: Vec<usize> = heading.iter().map(|(title, _)| title.width()).collect();
    for row in rows {
        for (at, cell) in row.iter().enumerate().take(widths.len()) {
            widths[at] = widths[at].max(cell.width());
        }
    }
    if let Some((last, others)) = widths.split_last_mut() {
        let taken: usize = others.iter().map(|width| width + 2).sum::<usize>() + 2;
        *last = (*last).min(width.saturating_sub(taken).max(8));
    }
    let titles: Vec<String> = heading.iter().map(|(title, _)| (*title).to_owned()).collect();
    let mut text = String::new();
    for row in std::iter::once(&titles).chain(rows) {
        let mut line = String::from(" ");
        for ((cell, &width), &(_, align)) in row.iter().zip(&widths).zip(heading) {
            line.push(' ');
            line.push_str(&cell_text(cell, width, align));
            line.push(' ');
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn cell_text(cell: &str, width: usize, align: Align) -> String {
    let cell = shorten(cell, width, align == Align::LeftKeepEnd);
    let room = " ".repeat(width.saturating_sub(cell.width()));
    if align == Align::Right { room + &cell } else { cell + &room }
}

/// Cuts text to a width, at its beginning or its end, and shows that it was cut.
#[must_use]
pub fn shorten(text: &str, width: usize, keep_end: bool) -> String {
    // A control character would tear the table, and file names are not ours.
    let clean: String = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if clean.width() <= width {
        return clean;
    }
    let mut kept: Vec<char> = Vec::new();
    let mut room = width.saturating_sub(1);
    let mut take = |c: char| {
        let needs = unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        let fits = needs <= room;
        if fits {
            room -= needs;
            kept.push(c);
        }
        fits
    };
    if keep_end {
        let _ = clean.chars().rev().all(&mut take);
        format!("…{}", kept.iter().rev().collect::<String>())
    } else {
        let _ = clean.chars().all(&mut take);
        format!("{}…", kept.iter().collect::<String>())
    }
}

/// Breaks a paragraph into lines of at most `width` columns, each indented.
#[must_use]
pub fn wrap(text: &str, indent: &str, width: usize) -> String {
    let room = width.saturating_sub(indent.width()).max(20);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let mut text = String::new();
    for line in &lines {
        text.extend([indent, line, "\n"]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Align, shorten, table, wrap};

    #[test]
    fn tables_stay_inside_their_width() {
        let heading = [("BYTES", Align::Right), ("LINE", Align::LeftKeepEnd)];
        let rows = vec![vec!["1.00GiB".to_owned(), "/a/very/long/path/that/does/not/fit/train.py:12".to_owned()]];
        let text = table(&heading, &rows, 30);
        assert!(text.lines().all(|line| unicode_width::UnicodeWidthStr::width(line) <= 30), "{text}");
        assert!(text.contains("train.py:12"), "the end of a path is what matters: {text}");
    }

    #[test]
    fn wide_and_hostile_text_is_cut_by_columns() {
        assert_eq!(shorten("模型模型模型", 7, false), "模型模…");
        assert_eq!(shorten("a\u{1b}[31mb", 20, false), "a\u{fffd}[31mb");
    }

    #[test]
    fn paragraphs_break_at_words() {
        assert_eq!(wrap("one two three four five six", "  ", 24), "  one two three four\n  five six\n");
    }
}
