//! Numbers and text as a stream of bytes that a page can read without a library.
//!
//! Every number is a LEB128 varint; signed ones are zigzagged first. A column is its values one after the other:
//! like stands beside like, which is what makes the compression that follows effective.

/// Largest integer a JavaScript number holds exactly. Real addresses and sizes lie far below; whatever a broken file
/// says beyond it is clamped, because a page that shows a wrong absurd number is better than one that fails to open.
const NUMBER_MAX: u64 = (1 << 53) - 1;

/// A growing stream of numbers and text.
#[derive(Debug, Default)]
pub(super) struct ColumnWriter {
    bytes: Vec<u8>,
}

impl ColumnWriter {
    /// The finished stream.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// One number.
    pub(super) fn number(&mut self, value: u64) {
        self.varint(value.min(NUMBER_MAX));
    }

    /// One signed number.
    pub(super) fn signed(&mut self, value: i64) {
        let clamped = value.clamp(-(NUMBER_MAX / 2).cast_signed(), (NUMBER_MAX / 2).cast_signed());
        self.varint(((clamped << 1) ^ (clamped >> 63)).cast_unsigned());
    }

    /// A column: one number a row. The reader knows the number of rows.
    pub(super) fn column(&mut self, values: impl IntoIterator<Item = u64>) {
        for value in values {
            self.number(value);
        }
    }

    /// A column of values close to their predecessors: each row holds the difference.
    pub(super) fn deltas(&mut self, values: impl IntoIterator<Item = u64>) {
        let mut previous = 0_i64;
        for value in values {
            let current = value.min(NUMBER_MAX / 4).cast_signed();
            self.signed(current - previous);
            previous = current;
        }
    }

    /// Text as its UTF-8 length and bytes.
    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push((value as u8 & 0x7f) | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(fill: impl FnOnce(&mut ColumnWriter)) -> Vec<u8> {
        let mut writer = ColumnWriter::default();
        fill(&mut writer);
        writer.into_bytes()
    }

    #[test]
    fn numbers_are_leb128() {
        assert_eq!(written(|w| w.column([0, 127, 128, 300])), [0, 127, 0x80, 1, 0xac, 2]);
    }

    #[test]
    fn deltas_are_zigzagged() {
        assert_eq!(written(|w| w.deltas([5, 4, 4, 70])), [10, 1, 0, 0x84, 1]);
    }

    #[test]
    fn numbers_javascript_cannot_hold_are_clamped() {
        assert_eq!(written(|w| w.number(u64::MAX)), written(|w| w.number(NUMBER_MAX)));
        assert_eq!(written(|w| w.signed(i64::MIN)).len(), 8);
    }
}
