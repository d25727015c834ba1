//! The pickle machine: reads protocols 2 to 5, data only, straight from the mapped file.

use crate::error::TraceError;
use crate::model::trace::Trace;

use super::item::Item;
use super::opcode as op;
use super::runs::Runs;
use super::store::Store;

/// The most values waiting to be put somewhere. Torch's C++ pickler puts a device's whole history there at once.
const MAX_STACK: usize = 1 << 26;

const CUT_SHORT: &str =
    "the file ends in the middle: it was cut short or is still being written; copy it again or take a new snapshot";

/// Reads a whole pickled snapshot.
pub(crate) fn read(data: &[u8]) -> Result<Trace, TraceError> {
    let (store, root) = Machine::new(data).run()?;
    store.finish(root)
}

struct Machine<'a> {
    data: &'a [u8],
    at: usize,
    store: Store<'a>,
    stack: Vec<Item>,
    marks: Vec<usize>,
    memo: Vec<Item>,
    runs: Runs,
}

impl<'a> Machine<'a> {
    fn new(data: &'a [u8]) -> Self {
        Self {
            data,
            at: 0,
            store: Store::new(data),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: Vec::new(),
            runs: Runs::new(),
        }
    }

    /// Runs to STOP; everything but the store is dropped with the machine.
    fn run(mut self) -> Result<(Store<'a>, Item), TraceError> {
        self.protocol()?;
        loop {
            let opcode = self.byte()?;
            match opcode {
                op::BINGET => {
                    let slot = self.byte()?;
                    self.get(slot.into())?;
                }
                op::LONG_BINGET => {
                    let slot = self.u32()?;
                    self.get(slot as usize)?;
                }
                op::MEMOIZE => {
                    let top = self.top()?;
                    self.memo.push(top);
                }
                op::MARK => self.mark()?,
                op::EMPTY_DICT => {
                    let dict = self.store.new_dict()?;
                    self.push(dict)?;
                }
                op::EMPTY_LIST => {
                    let list = self.store.new_list()?;
                    self.push(list)?;
                }
                op::SETITEMS => self.set_items()?,
                op::APPENDS => self.append_items()?,
                op::LONG1 => {
                    let len = self.byte()?;
                    self.long(len.into())?;
                }
                op::STOP => {
                    let root = self.pop()?;
                    return Ok((self.store, root));
                }
                _ => self.rarer(opcode)?,
            }
        }
    }

    /// Opcodes that are not the bulk of any snapshot, apart from the numbers.
    fn rarer(&mut self, opcode: u8) -> Result<(), TraceError> {
        match opcode {
            op::BININT => {
                let number = i64::from(self.u32()?.cast_signed());
                self.push(Item::Int(number))
            }
            op::BININT1 => {
                let number = self.byte()?;
                self.push(Item::Int(number.into()))
            }
            op::BININT2 => {
                let number = self.u16()?;
                self.push(Item::Int(number.into()))
            }
            op::SHORT_BINUNICODE | op::SHORT_BINSTRING => {
                let len = self.byte()?;
                self.text(len.into())
            }
            op::BINUNICODE | op::BINSTRING => {
                let len = self.u32()?;
                self.text(u64::from(len))
            }
            op::BINUNICODE8 => {
                let len = self.u64()?;
                self.text(len)
            }
            op::FRAME => self.u64().map(drop),
            op::NONE => self.push(Item::None),
            op::NEWTRUE => self.push(Item::Bool(true)),
            op::NEWFALSE => self.push(Item::Bool(false)),
            op::BINFLOAT => {
                let bits = self.u64()?.swap_bytes();
                self.push(Item::Float(f64::from_bits(bits)))
            }
            op::LONG4 => {
                let len = self.u32()?;
                self.long(u64::from(len))
            }
            op::SETITEM => {
                let at = self.stack.len().saturating_sub(2);
                self.set_items_from(at)
            }
            op::APPEND => {
                let at = self.stack.len().saturating_sub(1);
                self.append_from(at)
            }
            op::EMPTY_TUPLE => self.tuple(0),
            op::TUPLE1 => self.tuple(1),
            op::TUPLE2 => self.tuple(2),
            op::TUPLE3 => self.tuple(3),
            op::BINPUT => {
                let slot = self.byte()?;
                self.put(slot.into())
            }
            op::LONG_BINPUT => {
                let slot = self.u32()?;
                self.put(slot as usize)
            }
            _ => self.rarest(opcode),
        }
    }

    /// Opcodes that protocols 2 to 5 allow but no known producer of snapshots writes.
    fn rarest(&mut self, opcode: u8) -> Result<(), TraceError> {
        match opcode {
            op::TUPLE => {
                let mark = self.pop_mark()?;
                self.tuple(self.stack.len() - mark)
            }
            op::LIST => {
                let mark = self.pop_mark()?;
                let list = self.store.new_list()?;
                self.stack.insert(mark, list);
                self.append_from(mark + 1)
            }
            op::DICT => {
                let mark = self.pop_mark()?;
                let dict = self.store.new_dict()?;
                self.stack.insert(mark, dict);
                self.set_items_from(mark + 1)
            }
            op::POP => match self.marks.last() {
                Some(&mark) if mark == self.stack.len() => self.pop_mark().map(drop),
                _ => self.pop().map(drop),
            },
            op::POP_MARK => {
                let mark = self.pop_mark()?;
                self.stack.truncate(mark);
                Ok(())
            }
            op::DUP => {
                let top = self.top()?;
                self.push(top)
            }
            op::SHORT_BINBYTES => {
                let len = self.byte()?;
                self.bytes(len.into())
            }
            op::BINBYTES => {
                let len = self.u32()?;
                self.bytes(u64::from(len))
            }
            op::BINBYTES8 | op::BYTEARRAY8 => {
                let len = self.u64()?;
                self.bytes(len)
            }
            op::INT | op::LONG | op::FLOAT | op::UNICODE | op::GET | op::PUT => self.textual(opcode),
            op::PROTO => Err(self.damaged("a second PROTO")),
            other => Err(op::refuse(other, self.at - 1)),
        }
    }

    /// Opcodes of protocol 0 whose argument is a line of text.
    fn textual(&mut self, opcode: u8) -> Result<(), TraceError> {
        let start = self.at;
        let rest = &self.data[start..];
        let end = rest.iter().position(|&byte| byte == b'\n').ok_or_else(|| self.cut_short())?;
        self.at = start + end + 1;
        let line = std::str::from_utf8(&rest[..end]).map_err(|_| TraceError::malformed(start, "is not text"))?;
        let number = |text: &str| {
            text.parse::<i128>().map_err(|_| TraceError::malformed(start, "is no number: the file is damaged"))
        };
        match opcode {
            op::INT if line == "00" || line == "01" => self.push(Item::Bool(line == "01")),
            op::INT | op::LONG => {
                let value = number(line.strip_suffix('L').unwrap_or(line))?;
                let item = int_item(value).ok_or_else(|| too_wide(start))?;
                self.push(item)
            }
            op::FLOAT => match line.parse() {
                Ok(value) => self.push(Item::Float(value)),
                Err(_) => Err(TraceError::malformed(start, "is no number: the file is damaged")),
            },
            op::UNICODE if line.contains('\\') => {
                Err(TraceError::malformed(start, "escaped text of protocol 0: save the snapshot with protocol 2 to 5"))
            }
            op::UNICODE => {
                let item = self.store.text_at(start, end)?;
                self.push(item)
            }
            _ => {
                let slot = usize::try_from(number(line)?)
                    .map_err(|_| TraceError::malformed(start, "is no memo slot: the file is damaged"))?;
                if opcode == op::GET { self.get(slot) } else { self.put(slot) }
            }
        }
    }

    fn protocol(&mut self) -> Result<(), TraceError> {
        match *self.data {
            [op::PROTO, 2..=5, ..] => {
                self.at = 2;
                Ok(())
            }
            [op::PROTO, version, ..] => Err(TraceError::malformed(
                1,
                format!(
                    "pickle protocol {version}; memory snapshots use 2 to 5: save it again with pickle.dump(s, f, protocol=4)"
                ),
            )),
            _ => Err(TraceError::malformed(
                0,
                "does not begin like a pickle of protocol 2 to 5: save it again with pickle.dump(s, f, protocol=4)",
            )),
        }
    }

    fn mark(&mut self) -> Result<(), TraceError> {
        if let Some(&list) = self.stack.last()
            && self.store.is_empty_list(list)
            && let Some((stack, next)) = self.runs.read(self.data, self.at, &self.memo, &mut self.store)?
        {
            self.store.set_stack(list, stack);
            self.at = next;
            return Ok(());
        }
        if self.marks.len() >= MAX_STACK {
            return Err(self.too_deep());
        }
        self.marks.push(self.stack.len());
        Ok(())
    }

    fn set_items(&mut self) -> Result<(), TraceError> {
        let mark = self.pop_mark()?;
        self.set_items_from(mark)
    }

    fn set_items_from(&mut self, at: usize) -> Result<(), TraceError> {
        let Some(&dict) = at.checked_sub(1).and_then(|below| self.stack.get(below)) else {
            return Err(self.damaged("nothing to put values into"));
        };
        self.store.set_items(dict, &self.stack[at..], self.at - 1)?;
        self.stack.truncate(at);
        Ok(())
    }

    fn append_items(&mut self) -> Result<(), TraceError> {
        let mark = self.pop_mark()?;
        self.append_from(mark)
    }

    fn append_from(&mut self, at: usize) -> Result<(), TraceError> {
        let Some(&list) = at.checked_sub(1).and_then(|below| self.stack.get(below)) else {
            return Err(self.damaged("nothing to put values into"));
        };
        self.store.append(list, &self.stack[at..], self.at - 1)?;
        self.stack.truncate(at);
        Ok(())
    }

    fn tuple(&mut self, len: usize) -> Result<(), TraceError> {
        let at = self.stack.len().checked_sub(len).ok_or_else(|| self.damaged("a tuple of too few values"))?;
        let tuple = self.store.new_tuple(&self.stack[at..])?;
        self.stack.truncate(at);
        self.push(tuple)
    }

    fn get(&mut self, slot: usize) -> Result<(), TraceError> {
        match self.memo.get(slot) {
            None | Some(Item::Hole) => Err(self.damaged("a reference to a value that was never stored")),
            Some(&item) => self.push(item),
        }
    }

    fn put(&mut self, slot: usize) -> Result<(), TraceError> {
        let top = self.top()?;
        if slot == self.memo.len() {
            self.memo.push(top);
        } else if slot < self.memo.len() {
            self.memo[slot] = top;
            self.runs.forget();
        } else if slot < self.at {
            // Slots are numbered one by one by every known pickler; a gap never needs more slots than bytes read.
            self.memo.resize(slot, Item::Hole);
            self.memo.push(top);
        } else {
            return Err(self.damaged("a memo slot far beyond any used before"));
        }
        Ok(())
    }

    fn long(&mut self, len: u64) -> Result<(), TraceError> {
        let start = self.at;
        if let (1..=8, Some(&bytes)) = (len, self.data[start..].first_chunk::<8>()) {
            // Shifting up and back down again carries the sign.
            let shift = 64 - 8 * len as u32;
            self.at += len as usize;
            return self.push(Item::Int((i64::from_le_bytes(bytes) << shift) >> shift));
        }
        let bytes = self.take(len)?;
        // Snapshots hold 64-bit numbers, of which unsigned ones need a ninth byte for the sign.
        let item = match bytes.len() {
            0 => Item::Int(0),
            1..=16 => {
                let fill = if bytes[bytes.len() - 1] & 0x80 == 0 { 0 } else { 0xff };
                let mut wide = [fill; 16];
                wide[..bytes.len()].copy_from_slice(bytes);
                int_item(i128::from_le_bytes(wide)).ok_or_else(|| too_wide(start))?
            }
            _ => return Err(too_wide(start)),
        };
        self.push(item)
    }

    fn text(&mut self, len: u64) -> Result<(), TraceError> {
        let start = self.at;
        let len = self.take(len)?.len();
        let item = self.store.text_at(start, len)?;
        self.push(item)
    }

    fn bytes(&mut self, len: u64) -> Result<(), TraceError> {
        let start = self.at;
        let len = self.take(len)?.len();
        let item = Store::bytes_at(start, len)?;
        self.push(item)
    }

    fn push(&mut self, item: Item) -> Result<(), TraceError> {
        if self.stack.len() >= MAX_STACK {
            return Err(self.too_deep());
        }
        self.stack.push(item);
        Ok(())
    }

    fn pop(&mut self) -> Result<Item, TraceError> {
        let floor = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() <= floor {
            return Err(self.damaged("a value is taken where there is none"));
        }
        self.stack.pop().ok_or_else(|| self.damaged("a value is taken where there is none"))
    }

    fn top(&self) -> Result<Item, TraceError> {
        self.stack.last().copied().ok_or_else(|| self.damaged("a value is stored where there is none"))
    }

    fn pop_mark(&mut self) -> Result<usize, TraceError> {
        match self.marks.pop() {
            Some(mark) if mark <= self.stack.len() => Ok(mark),
            _ => Err(self.damaged("a group ends that never began")),
        }
    }

    fn byte(&mut self) -> Result<u8, TraceError> {
        let byte = *self.data.get(self.at).ok_or_else(|| self.cut_short())?;
        self.at += 1;
        Ok(byte)
    }

    fn u16(&mut self) -> Result<u16, TraceError> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, TraceError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, TraceError> {
        self.array().map(u64::from_le_bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], TraceError> {
        let bytes = *self.data[self.at..].first_chunk::<N>().ok_or_else(|| self.cut_short())?;
        self.at += N;
        Ok(bytes)
    }

    fn take(&mut self, len: u64) -> Result<&'a [u8], TraceError> {
        let rest = &self.data[self.at..];
        let taken = usize::try_from(len).ok().and_then(|len| rest.get(..len)).ok_or_else(|| self.cut_short())?;
        self.at += taken.len();
        Ok(taken)
    }

    #[cold]
    fn cut_short(&self) -> TraceError {
        TraceError::malformed(self.data.len(), CUT_SHORT)
    }

    #[cold]
    fn damaged(&self, problem: &str) -> TraceError {
        TraceError::malformed(self.at.saturating_sub(1), format!("{problem}: the file is damaged"))
    }

    #[cold]
    fn too_deep(&self) -> TraceError {
        TraceError::malformed(
            self.at,
            format!("more than {MAX_STACK} unfinished values: no memory snapshot needs that"),
        )
    }
}

fn int_item(number: i128) -> Option<Item> {
    i64::try_from(number).map(Item::Int).or_else(|_| u64::try_from(number).map(Item::Unsigned)).ok()
}

fn too_wide(offset: usize) -> TraceError {
    TraceError::malformed(offset, "a number of more than 64 bits: memory snapshots hold none")
}
