//! The lines of a log: which of them one process wrote, and the calls in its traceback.

use crate::source::file_name;

/// A call in a traceback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function.
    pub function: String,
    /// Its file.
    pub file: String,
    /// The line number.
    pub line: u32,
}

/// A line without colours, and which of several processes wrote it, where the line says so.
pub(super) struct LogLine<'a> {
    pub(super) text: std::borrow::Cow<'a, str>,
    pub(super) writer: Option<String>,
}

impl<'a> LogLine<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        let text = without_colours(line);
        let writer = writer(&text);
        Self { text, writer }
    }
}

/// How far from its beginning a line may name its writer: timestamps and log levels come before.
const WRITER_COLUMNS: usize = 100;

/// Who wrote a line of a job with several processes: torchrun's `[rank3]:` and `[default3]:`, `srun -l`'s `3: `,
/// mpirun's `[1,3]<stderr>`, and `(Worker pid=548)` as Ray and vLLM write it.
fn writer(text: &str) -> Option<String> {
    let head = text.get(..WRITER_COLUMNS).unwrap_or(text);
    let numbered = |marker: &str| {
        let rest = &head[head.find(marker)? + marker.len()..];
        let end = rest.find(']')?;
        rest[..end].parse::<u32>().ok()
    };
    if let Some(rank) = numbered("[rank").or_else(|| numbered("[default")) {
        return Some(format!("rank {rank}"));
    }
    if let Some(named) = head.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(named, _)| named)
        && named.contains("pid=")
    {
        return Some(named.to_owned());
    }
    if let Some((ids, _)) = head.strip_prefix('[').and_then(|rest| rest.split_once("]<std")) {
        return ids.split_once(',').and_then(|(_, rank)| rank.parse().ok()).map(|rank: u32| format!("rank {rank}"));
    }
    let (task, _) = head.trim_start().split_once(": ")?;
    task.parse().ok().map(|task: u32| format!("rank {task}"))
}

/// Takes out what colours text on a terminal: escape, bracket, parameters, a letter.
fn without_colours(line: &str) -> std::borrow::Cow<'_, str> {
    if !line.contains('\x1b') {
        return line.into();
    }
    let mut plain = String::with_capacity(line.len());
    let mut pieces = line.split('\x1b');
    plain.extend(pieces.next());
    for piece in pieces {
        let rest = piece.strip_prefix('[').map_or(piece, |sequence| {
            let end = sequence.find(|c: char| c.is_ascii_alphabetic()).map_or(sequence.len(), |at| at + 1);
            &sequence[end..]
        });
        plain.push_str(rest);
    }
    plain.into()
}

/// The longest traceback that is looked through: Python itself folds recursion after three calls.
const TRACEBACK_LINES_MAX: usize = 600;

/// The calls of the traceback that ends above a line, innermost first, among the lines of the same writer.
pub(super) fn traceback(lines: &[LogLine<'_>], message_at: usize) -> Vec<Call> {
    let writer = &lines[message_at].writer;
    let mut calls = Vec::new();
    let above = lines[..message_at].iter().rev().filter(|line| line.writer == *writer).take(TRACEBACK_LINES_MAX);
    for line in above {
        if line.text.contains("Traceback (most recent call last)") {
            return calls;
        }
        calls.extend(call(&line.text));
    }
    // Without its first line it may be any number of tracebacks; the nearest call is certain.
    calls.truncate(1);
    calls
}

/// The call a line of a traceback names, as Python, a notebook and rich write it.
fn call(line: &str) -> Option<Call> {
    python_call(line).or_else(|| notebook_call(line)).or_else(|| rich_call(line))
}

/// `File "train.py", line 25, in train`.
fn python_call(line: &str) -> Option<Call> {
    let (_, rest) = line.split_once("File \"")?;
    let (file, rest) = rest.split_once("\", line ")?;
    let (number, function) = rest.split_once(", in ").unwrap_or((rest, "<module>"));
    Some(Call { function: function.trim().to_owned(), file: file.to_owned(), line: number.trim().parse().ok()? })
}

/// `File ~/train.py:25, in train(model)` and `Cell In[3], line 5`.
fn notebook_call(line: &str) -> Option<Call> {
    let line = line.trim_start();
    if let Some((cell, rest)) = line.strip_prefix("Cell ").and_then(|rest| rest.split_once(", line ")) {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let (function, file) = ("<module>".to_owned(), format!("<ipython-input {cell}>"));
        return Some(Call { function, file, line: digits.parse().ok()? });
    }
    let (place, function) = line.strip_prefix("File ")?.split_once(", in ")?;
    let (file, number) = place.rsplit_once(':')?;
    let function = function.split('(').next().unwrap_or(function).trim().to_owned();
    Some(Call { function, file: file.to_owned(), line: number.parse().ok()? })
}

/// `│ /job/train.py:25 in train │`.
fn rich_call(line: &str) -> Option<Call> {
    let inside = line.split_once('│')?.1.trim().trim_end_matches('│').trim_end();
    let (place, function) = inside.split_once(" in ")?;
    let (file, number) = place.rsplit_once(':')?;
    let plain = file_name(file).contains(".py") && !function.contains(' ');
    plain.then_some(Call { function: function.to_owned(), file: file.to_owned(), line: number.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_are_known_by_their_prefix() {
        let cases = [
            ("[rank3]: Traceback", Some("rank 3")),
            ("2026-01-02T03:04:05Z [rank12]:   File \"x\"", Some("rank 12")),
            ("[default0]:torch.OutOfMemoryError", Some("rank 0")),
            ("(Worker_TP1 pid=549) ERROR 07-29 [executor.py:96] x", Some("Worker_TP1 pid=549")),
            ("[1,5]<stderr>: x", Some("rank 5")),
            (" 7: Traceback", Some("rank 7")),
            ("torch.OutOfMemoryError: CUDA out of memory", None),
            ("  File \"train.py\", line 3, in <module>", None),
        ];
        for (line, wanted) in cases {
            assert_eq!(LogLine::of(line).writer.as_deref(), wanted, "{line}");
        }
        assert_eq!(LogLine::of("\x1b[31;1m[rank2]:\x1b[0m x").text, "[rank2]: x");
    }

    #[test]
    fn calls_are_read_in_every_style() {
        let place = |line: &str| call(line).map(|call| (call.file, call.line, call.function));
        let at = |file: &str, line, function: &str| Some((file.to_owned(), line, function.to_owned()));
        assert_eq!(place("[rank0]:   File \"/a b/train.py\", line 25, in fit"), at("/a b/train.py", 25, "fit"));
        assert_eq!(place("File ~/train.py:7, in main(args)"), at("~/train.py", 7, "main"));
        assert_eq!(place("Cell In[3], line 5"), at("<ipython-input In[3]>", 5, "<module>"));
        assert_eq!(place("│ /job/train.py:25 in train          │"), at("/job/train.py", 25, "train"));
        assert_eq!(place("    loss = model(x)"), None);
    }
}
