//! The terminal's last row, kept free of the script's output for the status line.
//!
//! The script writes to the terminal itself, and oomph neither sees nor delays that. So the two must never share a row:
//! the rows above the last become the region that scrolls, and the line is drawn below it, in one write that leaves the
//! cursor, the colours and the script's text as they were. Lines, carriage returns and progress bars work in the region
//! as they do on a terminal with one row less.

use std::io::Write;

/// Columns and rows of a terminal.
pub(super) type Size = (u16, u16);

/// On a smaller terminal the script needs every row.
const ROWS_MIN: u16 = 8;
const COLUMNS_MIN: u16 = 30;

/// The last row of a terminal.
pub(super) struct Row<W: Write> {
    terminal: W,
    /// The terminal's size when the row was taken, and what it shows; nothing while it is the script's.
    taken: Option<(Size, String)>,
}

impl<W: Write> Row<W> {
    pub(super) fn new(terminal: W) -> Self {
        Self { terminal, taken: None }
    }

    /// Shows a line there, taking the row first if it is not taken yet.
    pub(super) fn show(&mut self, line: &str, size: Size) {
        let (columns, rows) = size;
        if columns < COLUMNS_MIN || rows < ROWS_MIN {
            return self.give_back();
        }
        let mut codes = String::new();
        match &self.taken {
            Some((known, shown)) if *known == size && shown == line => return,
            Some((known, _)) if *known == size => {}
            Some(_) => codes.push_str(&(released() + &taken(rows))),
            None => codes.push_str(&taken(rows)),
        }
        codes.push_str(&drawn(line, rows));
        self.write(&codes);
        self.taken = Some((size, line.to_owned()));
    }

    /// Makes the row the script's again.
    pub(super) fn give_back(&mut self) {
        let Some(((_, rows), _)) = self.taken.take() else { return };
        let codes = drawn("", rows) + &released();
        self.write(&codes);
    }

    /// One write, so that nothing of the script's can come between: the terminal takes writes one by one.
    fn write(&mut self, codes: &str) {
        // A terminal that has gone needs no line.
        let _ = self.terminal.write_all(codes.as_bytes()).and_then(|()| self.terminal.flush());
    }
}

impl<W: Write> Drop for Row<W> {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Makes room below the cursor (down a row, which scrolls on the last one, and up again), then keeps it from scrolling.
fn taken(rows: u16) -> String {
    format!("\x1bD\x1b[A\x1b7\x1b[1;{}r\x1b8", rows - 1)
}

/// Lets every row scroll again.
fn released() -> String {
    "\x1b7\x1b[r\x1b8".to_owned()
}

/// Draws the last row, dimmed; cursor and colours stay as they were.
fn drawn(line: &str, rows: u16) -> String {
    format!("\x1b7\x1b[{rows};1H\x1b[0;2m\x1b[2K{line}\x1b[0m\x1b8")
}

#[cfg(test)]
mod tests {
    use avt::Terminal;
    use proptest::prelude::*;

    use super::*;

    const COLUMNS: u16 = 40;
    const ROWS: u16 = 12;

    /// Something that keeps what is written to it.
    type Written = Vec<u8>;

    fn codes(act: impl FnOnce(&mut Row<&mut Written>)) -> String {
        let mut written = Written::new();
        let mut row = Row::new(&mut written);
        act(&mut row);
        row.taken = None;
        drop(row);
        String::from_utf8(written).expect("text")
    }

    fn terminal(rows: u16) -> Terminal {
        Terminal::with_scrollback(COLUMNS.into(), rows.into(), Some(1000)).expect("a size")
    }

    /// Every line there is: what has scrolled away, and what is shown.
    fn lines(terminal: &Terminal) -> Vec<String> {
        terminal.primary_screen().all_lines().map(|line| line.text().trim_end().to_owned()).collect()
    }

    /// What scripts print: lines, progress bars, bars below bars, text without an end.
    fn writes() -> impl Strategy<Value = Vec<String>> {
        let one = prop_oneof![
            "[a-z ]{0,60}".prop_map(|text| format!("{text}\r\n")),
            "[a-z]{1,20}".prop_map(|text| format!("\r{text}")),
            "[a-z]{1,9}",
            Just("\r\x1b[K50% done".to_owned()),
            "[a-z]{1,9}".prop_map(|text| format!("\r\n{text}\x1b[A\r")),
            Just("\x1b[31mred\x1b[0m\r\n".to_owned()),
        ];
        prop::collection::vec(one, 1..60)
    }

    proptest! {
        #[test]
        fn a_script_looks_as_on_a_terminal_with_one_row_less(writes in writes(), shown in prop::collection::vec(any::<bool>(), 60)) {
            let (mut with_line, mut without) = (terminal(ROWS), terminal(ROWS - 1));
            with_line.feed(codes(|row| row.show("oomph  step 0", (COLUMNS, ROWS))).as_str());
            for (at, write) in writes.iter().enumerate() {
                with_line.feed(write.as_str());
                without.feed(write.as_str());
                // Terminals save with the cursor that the next letter begins a new row; this model of one does not.
                let is_at_the_edge = without.cursor().col >= COLUMNS.into();
                if shown[at] && !is_at_the_edge {
                    let line = format!("oomph  step {at}");
                    with_line.feed(codes(|row| {
                        row.taken = Some(((COLUMNS, ROWS), String::new()));
                        row.show(&line, (COLUMNS, ROWS));
                    }).as_str());
                }
            }
            let (all, script) = (lines(&with_line), lines(&without));
            prop_assert_eq!(&all[..all.len() - 1], &script[..]);
            prop_assert!(all.last().is_some_and(|line| line.starts_with("oomph  step")), "{all:?}");
            prop_assert_eq!((with_line.cursor().col, with_line.cursor().row), (without.cursor().col, without.cursor().row));
        }
    }

    #[test]
    fn taking_the_row_moves_no_text_and_giving_it_back_leaves_no_trace() {
        for lines_before in [0, 3, 11, 12, 30] {
            let mut terminal = terminal(ROWS);
            (0..lines_before).for_each(|at| terminal.feed(format!("line {at}\r\n").as_str()));
            terminal.feed("half a li");
            terminal.feed(codes(|row| row.show("oomph", (COLUMNS, ROWS))).as_str());
            terminal.feed("ne\r\nmore\r\n");
            terminal.feed(
                codes(|row| {
                    row.taken = Some(((COLUMNS, ROWS), "oomph".to_owned()));
                    row.give_back();
                })
                .as_str(),
            );
            terminal.feed("end");
            let shown: Vec<String> = lines(&terminal).into_iter().filter(|line| !line.is_empty()).collect();
            let expected: Vec<String> = (0..lines_before)
                .map(|at| format!("line {at}"))
                .chain(["half a line", "more", "end"].map(str::to_owned))
                .collect();
            assert_eq!(shown, expected, "{lines_before}");
        }
    }

    #[test]
    fn nothing_is_written_twice_or_to_a_small_terminal() {
        let mut written = Written::new();
        let mut row = Row::new(&mut written);
        row.show("oomph", (80, 24));
        let once = row.terminal.len();
        row.show("oomph", (80, 24));
        assert_eq!(row.terminal.len(), once);
        row.show("oomph", (80, 5));
        assert!(row.taken.is_none());
        let after = row.terminal.len();
        drop(row);
        assert_eq!(written.len(), after, "what was given back is not given back again");
        assert_eq!(codes(|row| row.show("oomph", (20, 24))), "");
    }

    #[test]
    fn another_size_takes_another_row() {
        let text = codes(|row| {
            row.show("one", (80, 24));
            row.show("one", (80, 30));
        });
        assert!(text.contains("\x1b[1;23r") && text.ends_with(&drawn("one", 30)), "{text:?}");
        assert!(text.contains(&(released() + &taken(30))), "{text:?}");
    }
}
