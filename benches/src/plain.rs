//! A reader as one would first write it in Rust: a pickle machine that builds a tree of generic values over the
//! mapped file, then a walk that turns the tree into events and interns their stacks. It copies no text and keeps
//! its values in arenas, so it is a fair opponent; it reads trusted files of Python's pickler only.

use std::fs::File;
use std::io;
use std::path::Path;

use rustc_hash::FxHashMap;

/// What a reader of a snapshot is for: events with interned stacks.
pub struct PlainTrace {
    /// Every event: action, address, bytes, stream, time and stack.
    pub events: Vec<PlainEvent>,
    /// Function, file and line.
    pub frames: Vec<(String, String, i64)>,
    /// PyTorch's names of the actions.
    pub actions: Vec<String>,
    /// Positions of frames, each distinct stack once.
    pub stacks: Vec<Vec<u32>>,
    /// Blocks in all segments.
    pub blocks: usize,
}

/// One entry of an allocator's history.
pub struct PlainEvent {
    /// Position of PyTorch's name of the action.
    pub action: u32,
    /// Address.
    pub addr: i64,
    /// Bytes.
    pub bytes: i64,
    /// Stream.
    pub stream: i64,
    /// Microseconds.
    pub time_us: i64,
    /// Position of the stack.
    pub stack: u32,
}

#[derive(Clone, Copy)]
enum Value<'a> {
    None,
    Bool,
    Int(i64),
    Float,
    Text(&'a str),
    List(u32),
    Dict(u32),
}

#[derive(Default)]
struct Tree<'a> {
    lists: Vec<Vec<Value<'a>>>,
    dicts: Vec<Vec<(Value<'a>, Value<'a>)>>,
}

/// Maps a snapshot of Python's pickler and reads it.
///
/// # Errors
/// If the file cannot be read or is anything else.
pub fn read_plain_file(path: impl AsRef<Path>) -> io::Result<PlainTrace> {
    let file = File::open(path)?;
    #[expect(unsafe_code, reason = "the opponent maps its file too")]
    // SAFETY: the benchmark's own file, which nobody changes while it runs.
    let data = unsafe { memmap2::Mmap::map(&file) }?;
    let mut tree = Tree::default();
    let trace = tree.load(&data).and_then(|root| tree.convert(root));
    trace.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a snapshot of Python's pickler"))
}

impl<'a> Tree<'a> {
    fn load(&mut self, data: &'a [u8]) -> Option<Value<'a>> {
        let mut at = 0;
        let mut stack: Vec<Value<'a>> = Vec::new();
        let mut marks = Vec::new();
        let mut memo: Vec<Value<'a>> = Vec::new();
        let mut take = |len: usize| {
            at += len;
            data.get(at - len..at)
        };
        loop {
            let opcode = take(1)?[0];
            match opcode {
                0x80 => drop(take(1)?),
                0x95 => drop(take(8)?),
                b'.' => return stack.pop(),
                b'(' => marks.push(stack.len()),
                0x94 => memo.push(*stack.last()?),
                b'h' => stack.push(*memo.get(usize::from(take(1)?[0]))?),
                b'j' => stack.push(*memo.get(u32::from_le_bytes(take(4)?.try_into().ok()?) as usize)?),
                b'N' => stack.push(Value::None),
                0x88 | 0x89 => stack.push(Value::Bool),
                b'K' => stack.push(Value::Int(take(1)?[0].into())),
                b'M' => stack.push(Value::Int(u16::from_le_bytes(take(2)?.try_into().ok()?).into())),
                b'J' => stack.push(Value::Int(i32::from_le_bytes(take(4)?.try_into().ok()?).into())),
                0x8a => {
                    let len = usize::from(take(1)?[0]);
                    let mut bytes = [0; 8];
                    bytes.get_mut(..len)?.copy_from_slice(take(len)?);
                    stack.push(Value::Int(i64::from_le_bytes(bytes)));
                }
                b'G' => {
                    take(8)?;
                    stack.push(Value::Float);
                }
                0x8c => {
                    let len = usize::from(take(1)?[0]);
                    stack.push(Value::Text(std::str::from_utf8(take(len)?).ok()?));
                }
                b'X' => {
                    let len = u32::from_le_bytes(take(4)?.try_into().ok()?) as usize;
                    stack.push(Value::Text(std::str::from_utf8(take(len)?).ok()?));
                }
                b']' => {
                    stack.push(Value::List(self.lists.len() as u32));
                    self.lists.push(Vec::new());
                }
                b'}' => {
                    stack.push(Value::Dict(self.dicts.len() as u32));
                    self.dicts.push(Vec::new());
                }
                0x86 => {
                    let items = stack.split_off(stack.len().checked_sub(2)?);
                    stack.push(Value::List(self.lists.len() as u32));
                    self.lists.push(items);
                }
                b'a' | b'e' => {
                    let from = if opcode == b'a' { stack.len().checked_sub(1)? } else { marks.pop()? };
                    let Value::List(list) = *stack.get(from.checked_sub(1)?)? else { return None };
                    self.lists[list as usize].extend(stack.drain(from..));
                }
                b's' | b'u' => {
                    let from = if opcode == b's' { stack.len().checked_sub(2)? } else { marks.pop()? };
                    let Value::Dict(dict) = *stack.get(from.checked_sub(1)?)? else { return None };
                    self.dicts[dict as usize].extend(stack[from..].chunks_exact(2).map(|pair| (pair[0], pair[1])));
                    stack.truncate(from);
                }
                _ => return None,
            }
        }
    }

    fn convert(&self, root: Value<'a>) -> Option<PlainTrace> {
        let mut frames = Vec::new();
        let mut frame_ids: FxHashMap<u32, u32> = FxHashMap::default();
        let mut stacks: Vec<Vec<u32>> = Vec::new();
        let mut stack_ids: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
        let mut actions: Vec<&str> = Vec::new();
        let mut events = Vec::new();
        let mut ids = Vec::new();
        for &device in self.list(self.get(root, "device_traces")?)? {
            for &event in self.list(device)? {
                ids.clear();
                for &frame in self.list(self.get(event, "frames")?)? {
                    let Value::Dict(dict) = frame else { return None };
                    let next = frames.len() as u32;
                    let id = *frame_ids.entry(dict).or_insert(next);
                    if id == next {
                        let text = |key| Self::text(self.get(frame, key)?).map(str::to_owned);
                        frames.push((text("name")?, text("filename")?, self.int(frame, "line")?));
                    }
                    ids.push(id);
                }
                let stack = stack_ids.get(&ids).copied().unwrap_or_else(|| {
                    let id = stacks.len() as u32;
                    stacks.push(ids.clone());
                    stack_ids.insert(ids.clone(), id);
                    id
                });
                let action = Self::text(self.get(event, "action")?)?;
                let action = actions.iter().position(|name| *name == action).unwrap_or_else(|| {
                    actions.push(action);
                    actions.len() - 1
                });
                events.push(PlainEvent {
                    action: action as u32,
                    addr: self.int(event, "addr")?,
                    bytes: self.int(event, "size")?,
                    stream: self.int(event, "stream")?,
                    time_us: self.int(event, "time_us")?,
                    stack,
                });
            }
        }
        let mut blocks = 0;
        for &segment in self.list(self.get(root, "segments")?)? {
            blocks += self.list(self.get(segment, "blocks")?)?.len();
        }
        let actions = actions.into_iter().map(str::to_owned).collect();
        Some(PlainTrace { events, frames, actions, stacks, blocks })
    }

    fn get(&self, dict: Value<'a>, key: &str) -> Option<Value<'a>> {
        let Value::Dict(dict) = dict else { return None };
        let is_key = |name: &Value<'a>| matches!(name, Value::Text(text) if *text == key);
        self.dicts[dict as usize].iter().find(|(name, _)| is_key(name)).map(|(_, value)| *value)
    }

    fn int(&self, dict: Value<'a>, key: &str) -> Option<i64> {
        match self.get(dict, key)? {
            Value::Int(number) => Some(number),
            _ => None,
        }
    }

    fn list(&self, list: Value<'a>) -> Option<&[Value<'a>]> {
        match list {
            Value::List(list) => Some(&self.lists[list as usize]),
            _ => None,
        }
    }

    fn text(text: Value<'a>) -> Option<&'a str> {
        match text {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}
