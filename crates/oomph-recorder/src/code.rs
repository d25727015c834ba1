//! What a code object says: its file, its name, and the line of an instruction.

use crate::layout::{BYTES_LENGTH, BYTES_START, Frames, Layout, TEXT_LENGTH, TEXT_STATE};

/// Longer file names and names are cut.
const MAX_CHARACTERS: usize = 4096;
const MAX_TABLE_BYTES: usize = 1 << 24;

/// Reads a value at an offset from an address.
///
/// # Safety
/// `address` is that of a structure which has such a value there, aligned.
#[inline]
pub(crate) unsafe fn field<T: Copy>(address: usize, offset: usize) -> T {
    // SAFETY: the caller's promise.
    unsafe { ((address + offset) as *const T).read() }
}

/// Writes a Python string as UTF-8 to `room`, cut where it does not fit, and returns what was written.
///
/// # Safety
/// `text` is a Python string, or null.
pub(crate) unsafe fn text<'a>(layout: &Layout, text: usize, room: &'a mut [u8]) -> &'a [u8] {
    if text == 0 {
        return &[];
    }
    // SAFETY: these are fields of every string.
    let (length, state) = unsafe { (field::<usize>(text, TEXT_LENGTH), field::<u32>(text, TEXT_STATE)) };
    let state = state >> layout.text_kind_shift;
    let (kind, is_compact, is_ascii) = (state & 7, state & 8 != 0, state & 16 != 0);
    if !is_compact {
        return &[];
    }
    let start = text + if is_ascii { layout.text_ascii } else { layout.text_other };
    let mut used = 0;
    for index in 0..length.min(MAX_CHARACTERS) {
        // SAFETY: a compact string's characters follow its head, `length` of them, `kind` bytes each.
        let character = unsafe {
            match kind {
                1 => u32::from(field::<u8>(start, index)),
                2 => u32::from(field::<u16>(start, index * 2)),
                4 => field::<u32>(start, index * 4),
                _ => return &[],
            }
        };
        let character = char::from_u32(character).unwrap_or(char::REPLACEMENT_CHARACTER);
        let Some(place) = room.get_mut(used..used + character.len_utf8()) else { break };
        used += character.encode_utf8(place).len();
    }
    room.get(..used).unwrap_or_default()
}

/// The bytes of a bytes object.
///
/// # Safety
/// `object` is a bytes object that stays as it is as long as the answer is used.
unsafe fn bytes<'a>(object: usize) -> &'a [u8] {
    // SAFETY: every bytes object has a length, and that many bytes.
    unsafe {
        let length = field::<usize>(object, BYTES_LENGTH).min(MAX_TABLE_BYTES);
        std::slice::from_raw_parts((object + BYTES_START) as *const u8, length)
    }
}

/// The line of the instruction at a byte of the code; 0 if it has none.
///
/// # Safety
/// `code` is a code object of this layout's version.
pub(crate) unsafe fn line(layout: &Layout, code: usize, at_byte: i64) -> u32 {
    // SAFETY: every code object has both.
    let (first, table) =
        unsafe { (field::<i32>(code, layout.code_first_line), bytes(field::<usize>(code, layout.code_lines))) };
    if at_byte < 0 {
        return first.max(0) as u32;
    }
    let line = match layout.frames {
        Frames::Objects => line_in_pairs(table, i64::from(first), at_byte),
        Frames::ThroughC { .. } | Frames::Direct => line_in_entries(table, i64::from(first), at_byte),
    };
    line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0)
}

/// 3.10: pairs of bytes, how far the range goes and how many lines it is from the one before.
fn line_in_pairs(table: &[u8], first: i64, at_byte: i64) -> Option<i64> {
    const NO_LINE: i8 = -128;
    let (mut end, mut line) = (0, first);
    let (pairs, _) = table.as_chunks::<2>();
    for &[length, difference] in pairs {
        let difference = difference as i8;
        if difference != NO_LINE {
            line += i64::from(difference);
        }
        end += i64::from(length);
        if at_byte < end {
            return (difference != NO_LINE).then_some(line);
        }
    }
    None
}

/// From 3.11: entries of a byte with kind and length, and what follows by kind.
fn line_in_entries(table: &[u8], first: i64, at_byte: i64) -> Option<i64> {
    let mut rest = table.iter().copied();
    let (mut end, mut line) = (0, first);
    while let Some(head) = rest.next() {
        end += (i64::from(head & 7) + 1) * 2;
        let kind = (head >> 3) & 15;
        line += match kind {
            15 => 0,
            14 => {
                let difference = signed_number(&mut rest)?;
                for _ in 0..3 {
                    number(&mut rest)?;
                }
                difference
            }
            13 => signed_number(&mut rest)?,
            10..=12 => {
                rest.nth(1)?;
                i64::from(kind) - 10
            }
            _ => {
                rest.next()?;
                0
            }
        };
        if at_byte < end {
            return (kind != 15).then_some(line);
        }
    }
    None
}

/// Six bits a byte, lowest first; the seventh says that more follow.
fn number(rest: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let (mut value, mut shift) = (0_i64, 0);
    loop {
        let byte = rest.next()?;
        value |= i64::from(byte & 63) << shift;
        shift += 6;
        if byte & 64 == 0 {
            return Some(value);
        }
        if shift > 54 {
            return None;
        }
    }
}

/// The lowest bit is the sign.
fn signed_number(rest: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let value = number(rest)?;
    Some(if value & 1 == 0 { value >> 1 } else { -(value >> 1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_as_python_3_10_writes_them() {
        // 4 bytes on line 10, 6 bytes two lines on, 2 bytes without a line, 2 bytes one line back.
        let table = [4, 0, 6, 2, 2, 128, 2, 255];
        let lines: Vec<_> = (0..16).step_by(2).map(|at| line_in_pairs(&table, 10, at)).collect();
        let expected = [Some(10), Some(10), Some(12), Some(12), Some(12), None, Some(11), None];
        assert_eq!(lines, expected);
    }

    #[test]
    fn entries_are_read_as_python_3_11_writes_them() {
        // Short on the same line; one line on; no columns, 40 lines on; long, 3 lines back; none.
        let table = [0x80, 0x12, 0x80 | 11 << 3, 1, 2, 0x80 | 13 << 3 | 1, 0x50, 1, 0x80 | 14 << 3, 7, 0, 1, 1, 0xf8];
        let lines: Vec<_> = (0..14).step_by(2).map(|at| line_in_entries(&table, 5, at)).collect();
        assert_eq!(lines, [Some(5), Some(6), Some(46), Some(46), Some(43), None, None]);
    }

    #[test]
    fn tables_that_end_early_have_no_line() {
        assert_eq!(line_in_entries(&[0x80 | 14 << 3, 7], 5, 0), None);
        assert_eq!(
            line_in_entries(&[0x80 | 13 << 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 5, 0),
            None
        );
        assert_eq!(line_in_entries(&[], 5, 0), None);
        assert_eq!(line_in_pairs(&[4], 5, 0), None);
    }
}
