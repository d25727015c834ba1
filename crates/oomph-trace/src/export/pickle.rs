//! The few pickle opcodes a snapshot needs, with Python's memo for what is shared.

use std::io::{self, Write};

use rustc_hash::FxHashMap;

use crate::model::extra::Value;

/// As many elements as Python's pickler puts between a MARK and its APPENDS.
const BATCH: usize = 1000;

/// Writes a pickle of protocol 4.
pub(super) struct Pickler<W: Write> {
    out: W,
    memo_len: u32,
    keys: FxHashMap<&'static str, u32>,
}

/// Where in the memo something is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot(u32);

/// A list being written, in batches as Python does it.
pub(super) struct OpenList {
    in_batch: usize,
}

impl OpenList {
    pub(super) fn begin<W: Write>(to: &mut Pickler<W>) -> io::Result<Self> {
        to.op(b']')?;
        Ok(Self { in_batch: 0 })
    }

    /// To be called before each element.
    pub(super) fn next<W: Write>(&mut self, to: &mut Pickler<W>) -> io::Result<()> {
        if self.in_batch == BATCH {
            to.op(b'e')?;
            self.in_batch = 0;
        }
        self.in_batch += 1;
        if self.in_batch == 1 { to.op(b'(') } else { Ok(()) }
    }

    pub(super) fn end<W: Write>(self, to: &mut Pickler<W>) -> io::Result<()> {
        if self.in_batch > 0 { to.op(b'e') } else { Ok(()) }
    }
}

impl<W: Write> Pickler<W> {
    pub(super) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(b"\x80\x04")?;
        Ok(Self { out, memo_len: 0, keys: FxHashMap::default() })
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(b".")?;
        self.out.flush()
    }

    pub(super) fn op(&mut self, opcode: u8) -> io::Result<()> {
        self.out.write_all(&[opcode])
    }

    /// Remembers what was written last, so that it can be referred to.
    pub(super) fn memoize(&mut self) -> io::Result<Slot> {
        self.out.write_all(b"\x94")?;
        self.memo_len += 1;
        Ok(Slot(self.memo_len - 1))
    }

    pub(super) fn get(&mut self, Slot(slot): Slot) -> io::Result<()> {
        if let Ok(slot) = u8::try_from(slot) {
            return self.out.write_all(&[b'h', slot]);
        }
        self.out.write_all(b"j")?;
        self.out.write_all(&slot.to_le_bytes())
    }

    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        let len = text.len();
        if let Ok(len) = u8::try_from(len) {
            self.out.write_all(&[0x8c, len])?;
        } else if let Ok(len) = u32::try_from(len) {
            self.out.write_all(b"X")?;
            self.out.write_all(&len.to_le_bytes())?;
        } else {
            self.out.write_all(b"\x8d")?;
            self.out.write_all(&(len as u64).to_le_bytes())?;
        }
        self.out.write_all(text.as_bytes())
    }

    /// Text of the format itself, shared by all that use it.
    pub(super) fn key(&mut self, key: &'static str) -> io::Result<()> {
        if let Some(&slot) = self.keys.get(key) {
            return self.get(Slot(slot));
        }
        self.text(key)?;
        let Slot(slot) = self.memoize()?;
        self.keys.insert(key, slot);
        Ok(())
    }

    pub(super) fn bool(&mut self, flag: bool) -> io::Result<()> {
        self.op(if flag { 0x88 } else { 0x89 })
    }

    pub(super) fn float(&mut self, number: f64) -> io::Result<()> {
        self.out.write_all(b"G")?;
        self.out.write_all(&number.to_bits().to_be_bytes())
    }

    pub(super) fn u64(&mut self, number: u64) -> io::Result<()> {
        if let Ok(number) = i64::try_from(number) {
            return self.i64(number);
        }
        // The ninth byte says that it is positive.
        self.out.write_all(b"\x8a\x09")?;
        self.out.write_all(&number.to_le_bytes())?;
        self.out.write_all(&[0])
    }

    pub(super) fn i64(&mut self, number: i64) -> io::Result<()> {
        if let Ok(number) = u8::try_from(number) {
            return self.out.write_all(&[b'K', number]);
        }
        if let Ok(number) = u16::try_from(number) {
            let [low, high] = number.to_le_bytes();
            return self.out.write_all(&[b'M', low, high]);
        }
        if let Ok(number) = i32::try_from(number) {
            self.out.write_all(b"J")?;
            return self.out.write_all(&number.to_le_bytes());
        }
        let bytes = number.to_le_bytes();
        // As short as two's complement allows, as Python does it.
        let fill = if number < 0 { 0xff } else { 0 };
        let mut len = bytes.len();
        while len > 1 && bytes[len - 1] == fill && (bytes[len - 2] ^ fill) & 0x80 == 0 {
            len -= 1;
        }
        self.out.write_all(&[0x8a, len as u8])?;
        self.out.write_all(&bytes[..len])
    }

    pub(super) fn pair(&mut self, first: u64, second: u64) -> io::Result<()> {
        self.u64(first)?;
        self.u64(second)?;
        self.op(0x86)
    }

    /// Begins a dictionary; keys and values follow in turn.
    pub(super) fn open_dict(&mut self) -> io::Result<()> {
        self.out.write_all(b"}(")
    }

    pub(super) fn close_dict(&mut self) -> io::Result<()> {
        self.op(b'u')
    }

    pub(super) fn value(&mut self, value: &Value) -> io::Result<()> {
        match value {
            Value::None => self.op(b'N'),
            Value::Bool(flag) => self.bool(*flag),
            Value::Int(number) => self.i64(*number),
            Value::Unsigned(number) => self.u64(*number),
            Value::Float(number) => self.float(*number),
            Value::Text(text) => self.text(text),
            Value::Bytes(bytes) => {
                self.out.write_all(b"\x8e")?;
                self.out.write_all(&(bytes.len() as u64).to_le_bytes())?;
                self.out.write_all(bytes)
            }
            Value::List(items) => {
                let mut list = OpenList::begin(self)?;
                for item in items {
                    list.next(self)?;
                    self.value(item)?;
                }
                list.end(self)
            }
            Value::Tuple(items) => {
                self.op(b'(')?;
                items.iter().try_for_each(|item| self.value(item))?;
                self.op(b't')
            }
            Value::Dict(pairs) => {
                self.open_dict()?;
                for (key, item) in pairs {
                    self.value(key)?;
                    self.value(item)?;
                }
                self.close_dict()
            }
        }
    }
}
