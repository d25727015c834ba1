//! What is around the Python on disk: a byte order mark, or the JSON of a notebook. It stays as it is, byte by byte.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::error::Error;
use crate::source::{Kind, Source};

/// Offsets have 32 bits, and a file is held several times over.
const BYTES_MAX: usize = 1 << 30;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// What is around a source on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Envelope {
    byte_order_mark: bool,
    /// The whole file, for a notebook.
    json: Option<String>,
}

impl Envelope {
    /// Takes the Python out of a file's bytes.
    ///
    /// # Errors
    /// The bytes are too many, not UTF-8, or not a notebook where one was expected.
    pub fn open(name: &str, bytes: Vec<u8>, kind: Kind) -> Result<(Self, Source), Error> {
        if bytes.len() > BYTES_MAX {
            return Err(Error::TooLarge { name: name.to_owned(), bytes: bytes.len() });
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = valid.split(|byte| *byte == b'\n').count();
            Error::NotUtf8 { name: name.to_owned(), line }
        })?;
        let (byte_order_mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) => (true, rest.to_owned()),
            None => (false, text),
        };
        match kind {
            Kind::Script => Ok((Self { byte_order_mark, json: None }, Source::parse(name, text))),
            Kind::Notebook => {
                let source = Source::parse_notebook(name, &text)?;
                Ok((Self { byte_order_mark, json: Some(text) }, source))
            }
        }
    }

    /// The file as it is to be written.
    #[must_use]
    pub fn seal(&self, source: &Source) -> String {
        let mark = if self.byte_order_mark { BYTE_ORDER_MARK } else { "" };
        format!("{mark}{}", self.json.as_ref().unwrap_or(&source.text))
    }

    /// The same notebook with other code in some cells, by number from 1; `None` if it is none.
    pub(crate) fn with_cells(&self, name: &str, cells: &[(usize, String)]) -> Option<(Self, Source)> {
        let json = replace_cells(self.json.as_deref()?, cells)?;
        let source = Source::parse_notebook(name, &json).ok()?;
        Some((Self { json: Some(json), ..self.clone() }, source))
    }
}

/// An object of the JSON; its text is borrowed, so its place is known. Of a key that is there twice the last counts.
type Entries<'a> = BTreeMap<String, &'a RawValue>;

/// The code of each cell of a notebook, as it stands in the JSON.
fn sources_of(json: &str) -> Option<Vec<&RawValue>> {
    let notebook: Entries<'_> = serde_json::from_str(json).ok()?;
    let cells: Vec<Entries<'_>> = serde_json::from_str(notebook.get("cells")?.get()).ok()?;
    cells.iter().map(|cell| cell.get("source").copied()).collect()
}

/// For each cell of a notebook, the line of the JSON that each line of its source is on, from 1.
pub(crate) fn lines_of_cells(json: &str) -> Vec<Vec<usize>> {
    let Some(sources) = sources_of(json) else { return Vec::new() };
    let (mut line, mut done) = (1, 0);
    let mut line_at = |offset: usize| {
        line += json[done..offset].matches('\n').count();
        done = offset;
        line
    };
    let offset = |raw: &RawValue| raw.get().as_ptr() as usize - json.as_ptr() as usize;
    let lines_of = |source: &RawValue| {
        // Code is one string, or a list of lines.
        let list = serde_json::from_str::<Vec<&RawValue>>(source.get());
        let pieces = list.unwrap_or_else(|_| vec![source]);
        let mut lines = Vec::new();
        for piece in pieces {
            let line = line_at(offset(piece));
            let text: String = serde_json::from_str(piece.get()).unwrap_or_default();
            let count = text.split_inclusive('\n').count();
            lines.extend(std::iter::repeat_n(line, count));
        }
        lines
    };
    sources.into_iter().map(lines_of).collect()
}

/// Puts new code into the JSON text of a notebook and leaves every other byte alone.
fn replace_cells(json: &str, cells: &[(usize, String)]) -> Option<String> {
    let mut result = String::with_capacity(json.len());
    let mut done = 0;
    for (index, source) in sources_of(json)?.into_iter().enumerate() {
        let Some((_, code)) = cells.iter().find(|(number, _)| *number == index + 1) else { continue };
        let old = source.get();
        let start = old.as_ptr() as usize - json.as_ptr() as usize;
        result.push_str(json.get(done..start)?);
        result.push_str(&code_json(code, old, json.get(..start)?));
        done = start + old.len();
    }
    result.push_str(json.get(done..)?);
    Some(result)
}

/// Code as it stands in a notebook: one string if it was one, else a list of lines, laid out as it was.
fn code_json(code: &str, old: &str, before: &str) -> String {
    // Strings can always be written.
    let string = |text: &str| serde_json::to_string(text).unwrap_or_default();
    if old.starts_with('"') {
        return string(code);
    }
    let lines: Vec<String> = code.split_inclusive('\n').map(string).collect();
    if lines.is_empty() {
        return "[]".to_owned();
    }
    if !old.contains('\n') && old.len() > 2 {
        return format!("[{}]", lines.join(", "));
    }
    let own_line = before.rsplit('\n').next().unwrap_or_default();
    let outer = &own_line[..own_line.len() - own_line.trim_start().len()];
    let inner = match old.find('"').and_then(|quote| old[..quote].rsplit('\n').next()) {
        Some(indent) if indent.trim().is_empty() => indent.to_owned(),
        _ => format!("{outer} "),
    };
    let closing = match old.trim_end_matches(']').rsplit('\n').next() {
        Some(indent) if indent.trim().is_empty() && old.contains('\n') => indent,
        _ => outer,
    };
    format!("[\n{inner}{}\n{closing}]", lines.join(&format!(",\n{inner}")))
}

#[cfg(test)]
mod tests;
