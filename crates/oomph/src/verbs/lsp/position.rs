//! Places as editors count them: from 0, columns in UTF-16 units, or in bytes where the editor agrees to that.

use lsp_types::{Position, PositionEncodingKind, Range};
use oomph_check::python::{TextRange, TextSize};

/// What a column counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Encoding {
    /// UTF-16 units: what every editor speaks.
    #[default]
    Utf16,
    /// Bytes.
    Utf8,
}

impl Encoding {
    /// The best of what an editor offers.
    pub(super) fn negotiate(offered: Option<&[PositionEncodingKind]>) -> Self {
        if offered.is_some_and(|kinds| kinds.contains(&PositionEncodingKind::UTF8)) { Self::Utf8 } else { Self::Utf16 }
    }

    pub(super) fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
        }
    }

    fn width(self, letter: char) -> usize {
        match self {
            Self::Utf8 => letter.len_utf8(),
            Self::Utf16 => letter.len_utf16(),
        }
    }
}

/// Where the lines of a text begin.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    starts: Vec<usize>,
    encoding: Encoding,
}

impl Lines {
    pub(super) fn of(text: &str, encoding: Encoding) -> Self {
        let bytes = text.as_bytes();
        let breaks = bytes.iter().enumerate().filter(|(index, byte)| match byte {
            b'\n' => true,
            b'\r' => bytes.get(index + 1) != Some(&b'\n'),
            _ => false,
        });
        Self { starts: std::iter::once(0).chain(breaks.map(|(index, _)| index + 1)).collect(), encoding }
    }

    /// The byte a place is at; past the end of a line or of the text, that end.
    pub(super) fn offset(&self, text: &str, place: Position) -> usize {
        let Some(&start) = self.starts.get(place.line as usize) else { return text.len() };
        let end = self.starts.get(place.line as usize + 1).copied().unwrap_or(text.len());
        let line = text[start..end].trim_end_matches(['\n', '\r']);
        let mut column = 0;
        for (offset, letter) in line.char_indices() {
            if column >= place.character as usize {
                return start + offset;
            }
            column += self.encoding.width(letter);
        }
        start + line.len()
    }

    pub(super) fn text_range(&self, text: &str, range: Range) -> std::ops::Range<usize> {
        let (start, end) = (self.offset(text, range.start), self.offset(text, range.end));
        start.min(end)..end.max(start)
    }

    /// The place of a byte.
    pub(super) fn position(&self, text: &str, offset: TextSize) -> Position {
        let offset = text.floor_char_boundary(offset.to_usize().min(text.len()));
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let column: usize = text[self.starts[line]..offset].chars().map(|letter| self.encoding.width(letter)).sum();
        Position::new(u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
    }

    pub(super) fn range(&self, text: &str, range: TextRange) -> Range {
        Range::new(self.position(text, range.start()), self.position(text, range.end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every place of a text, there and back, in both ways of counting.
    #[test]
    fn offsets_and_places_agree() {
        let text = "a = 'é🙂'\r\nb\n\nc\rd";
        for encoding in [Encoding::Utf16, Encoding::Utf8] {
            let lines = Lines::of(text, encoding);
            for (offset, letter) in text.char_indices().filter(|(_, letter)| !matches!(letter, '\r' | '\n')) {
                let place = lines.position(text, TextSize::try_from(offset).expect("small"));
                assert_eq!(lines.offset(text, place), offset, "{letter:?} {encoding:?} {place:?}");
            }
        }
        let after_emoji = TextSize::of("a = 'é🙂");
        assert_eq!(Lines::of(text, Encoding::Utf16).position(text, after_emoji), Position::new(0, 8));
        assert_eq!(Lines::of(text, Encoding::Utf8).position(text, after_emoji), Position::new(0, 11));
        assert_eq!(
            Lines::of(text, Encoding::Utf16).position(text, TextSize::of("a = 'é🙂'\r\nb\n\nc\r")),
            Position::new(4, 0)
        );
    }

    #[test]
    fn places_beyond_the_text_are_its_ends() {
        let lines = Lines::of("ab\ncd", Encoding::Utf16);
        assert_eq!(lines.offset("ab\ncd", Position::new(0, 99)), 2);
        assert_eq!(lines.offset("ab\ncd", Position::new(99, 0)), 5);
    }
}
