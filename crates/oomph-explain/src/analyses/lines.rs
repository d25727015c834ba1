//! The lines that hold the memory, with the one that the verdict blames always among them.

use super::peak::{Caller, Held, Holders};
use crate::source::Line;
use crate::verdict::{Accusation, Remove};

/// A row of the table of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRow {
    /// The line; `None` where none was recorded.
    pub line: Option<Line>,
    /// Bytes that this line allocated itself. They add up to what was live.
    pub own_bytes: u64,
    /// Bytes that it holds with the calls it makes, or keeps alive.
    pub bytes: u64,
    /// How many blocks those are.
    pub blocks: usize,
    /// How the line stands to the row.
    pub role: Role,
}

/// How a line comes to hold bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It allocated them, or called what did.
    Holds,
    /// It is called by the last line above that is not called itself.
    Called,
    /// It allocated next to nothing, but what it made keeps the rest alive.
    KeepsAlive,
    /// It asked for them, and did not get them.
    AskedFor,
    /// It allocated them, and they are freed but wait for a stream.
    Waits,
}

/// The table as a tree: every line of the loop, and below it the lines it leads to; most bytes first.
///
/// The blamed line is the loop's own in most verdicts. Where it is none of these, it stands at the top with the bytes it
/// is blamed for.
#[must_use]
pub fn tree(holders: &Holders, accusation: &Accusation) -> Vec<LineRow> {
    let mut rows: Vec<LineRow> = holders.callers.iter().flat_map(branch).collect();
    if let Some(line) = accusation.line
        && !rows.iter().any(|row| row.line == Some(line))
    {
        let (role, blocks) = match &accusation.remove {
            Remove::Request => (Role::AskedFor, 0),
            Remove::Waits => (Role::Waits, 0),
            Remove::Blocks(blocks) => (Role::KeepsAlive, blocks.len()),
            Remove::Nothing | Remove::Holes | Remove::Others(_) => (Role::KeepsAlive, 0),
        };
        let row = LineRow { line: Some(line), own_bytes: 0, bytes: accusation.bytes, blocks, role };
        rows.insert(0, row);
    }
    rows
}

fn branch(caller: &Caller) -> Vec<LineRow> {
    let Held { what: line, bytes, blocks } = caller.held;
    let own_bytes = caller.inside.iter().find(|inside| inside.what == line).map_or(0, |own| own.bytes);
    let mut rows = vec![LineRow { line, own_bytes, bytes, blocks, role: Role::Holds }];
    rows.extend(caller.inside.iter().filter(|inside| inside.what != line).map(|inside| LineRow {
        line: inside.what,
        own_bytes: inside.bytes,
        bytes: inside.bytes,
        blocks: inside.blocks,
        role: Role::Called,
    }));
    rows
}

/// The first `top` rows, with the blamed line's among them wherever it stands.
#[must_use]
pub fn first_rows(rows: &[LineRow], blamed: Option<Line>, top: usize) -> Vec<LineRow> {
    let mut shown: Vec<LineRow> = rows.iter().take(top).copied().collect();
    let is_blamed = |row: &&LineRow| blamed.is_some() && row.line == blamed;
    if !shown.iter().any(|row| is_blamed(&row)) {
        shown.extend(rows.iter().find(is_blamed));
    }
    shown
}

/// The same without the tree: every line once, most bytes first.
#[must_use]
pub fn flat(rows: &[LineRow]) -> Vec<LineRow> {
    let mut lines: Vec<LineRow> = Vec::new();
    for row in rows {
        match lines.iter_mut().find(|line| line.line == row.line) {
            Some(line) => {
                line.own_bytes += row.own_bytes;
                line.bytes = line.bytes.max(row.bytes).max(line.own_bytes);
                line.blocks = line.blocks.max(row.blocks);
            }
            None => lines.push(*row),
        }
    }
    lines.sort_by_key(|line| std::cmp::Reverse(line.bytes));
    lines
}

#[cfg(test)]
mod tests {
    use oomph_trace::FrameId;

    use super::*;

    fn line(number: u32) -> Line {
        Line { frame: FrameId(number) }
    }

    fn held(number: u32, bytes: u64) -> Held<Line> {
        Held { what: Some(line(number)), bytes, blocks: 1 }
    }

    fn holders() -> Holders {
        let loop_line = Caller { held: held(25, 90), inside: vec![held(7, 60), held(8, 20), held(25, 10)] };
        let model = Caller { held: held(3, 40), inside: vec![held(3, 40)] };
        let evaluation = Caller { held: held(50, 5), inside: vec![held(7, 5)] };
        let callers = vec![loop_line, model, evaluation];
        Holders { at: 0, allocated_bytes: 135, lines: Vec::new(), callers, stacks: Vec::new(), categories: Vec::new() }
    }

    fn blaming(number: Option<u32>) -> Accusation {
        Accusation {
            class: "leak",
            summary: String::new(),
            line: number.map(line),
            stack: oomph_trace::StackId::MISSING,
            bytes: 80,
            remove: Remove::Blocks(vec![1, 2, 3]),
            advice: Vec::new(),
        }
    }

    #[test]
    fn callers_come_before_what_they_call_and_everything_adds_up() {
        let rows = tree(&holders(), &blaming(Some(25)));
        let shown: Vec<_> = rows.iter().map(|row| (row.line.map(|line| line.frame.0), row.bytes, row.role)).collect();
        let (holds, called) = (Role::Holds, Role::Called);
        let wanted =
            [(25, 90, holds), (7, 60, called), (8, 20, called), (3, 40, holds), (50, 5, holds), (7, 5, called)];
        assert_eq!(shown, wanted.map(|(line, bytes, role)| (Some(line), bytes, role)));
        assert_eq!(rows.iter().map(|row| row.own_bytes).sum::<u64>(), 135);
        let lines = flat(&rows);
        assert_eq!(lines.iter().map(|row| row.own_bytes).sum::<u64>(), 135);
        assert_eq!((lines[1].line, lines[1].bytes), (Some(line(7)), 65));
    }

    #[test]
    fn the_blamed_line_is_always_there() {
        let rows = tree(&holders(), &blaming(Some(99)));
        assert_eq!((rows[0].line, rows[0].bytes, rows[0].blocks), (Some(line(99)), 80, 3));
        let rows = tree(&holders(), &blaming(Some(50)));
        let shown = first_rows(&rows, Some(line(50)), 2);
        assert_eq!(shown.last().map(|row| row.line), Some(Some(line(50))));
        assert_eq!(first_rows(&rows, None, 2).len(), 2);
    }
}
