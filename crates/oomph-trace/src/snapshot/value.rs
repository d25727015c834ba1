//! From items to plain values: for what oomph does not understand, or reads once.

use crate::error::TraceError;
use crate::model::extra::{Extra, MAX_VALUE_DEPTH, Value};
use crate::model::stack::{FrameId, StringId};

use super::item::{EMPTY_BODY, Item, Object, Word};
use super::store::Store;

impl Store<'_> {
    /// The plain value of an item, which is marked as used.
    pub(super) fn value_of(&mut self, item: Item) -> Result<Value, TraceError> {
        self.value_at(item, 0)
    }

    fn value_at(&mut self, item: Item, depth: usize) -> Result<Value, TraceError> {
        if depth > MAX_VALUE_DEPTH {
            return Err(TraceError::shape(
                "unknown key",
                format!("nests deeper than {MAX_VALUE_DEPTH} levels or contains itself"),
            ));
        }
        self.pay(size_of::<Value>())?;
        Ok(match item {
            Item::Hole | Item::None => Value::None,
            Item::Bool(flag) => Value::Bool(flag),
            Item::Int(number) => Value::Int(number),
            Item::Unsigned(number) => Value::Unsigned(number),
            Item::Float(number) => Value::Float(number),
            Item::Text { len, at, .. } => {
                self.pay(len as usize)?;
                Value::Text(self.text(at, len))
            }
            Item::Bytes { len, at } => {
                self.pay(len as usize)?;
                Value::Bytes(self.bytes(at, len).to_vec())
            }
            Item::Pair(first, second) => Value::Tuple(vec![Value::Int(first.into()), Value::Int(second.into())]),
            Item::Object(at) => self.object_value(at, depth)?,
        })
    }

    fn object_value(&mut self, at: u32, depth: usize) -> Result<Value, TraceError> {
        let object = self.objects[at as usize];
        Ok(match object {
            Object::List { body, .. } => {
                self.objects[at as usize] = Object::List { body, used: true };
                Value::List(self.body_values(body, depth)?)
            }
            Object::Tuple { body } => Value::Tuple(self.body_values(body, depth)?),
            Object::Dict { body, .. } => {
                self.objects[at as usize] = Object::Dict { body, used: true };
                let mut values = self.body_values(body, depth)?.into_iter();
                let mut pairs = Vec::with_capacity(values.len() / 2);
                while let (Some(key), Some(value)) = (values.next(), values.next()) {
                    pairs.push((key, value));
                }
                Value::Dict(pairs)
            }
            Object::Stack { id, .. } => {
                self.objects[at as usize] = Object::Stack { id, used: true };
                let frames = self.interner.table().stack(id).to_vec();
                Value::List(frames.into_iter().map(|frame| self.frame_value(frame)).collect::<Result<_, _>>()?)
            }
            Object::Forward(id) => {
                let table = self.interner.table();
                let lines: Vec<_> = table.forward(id).iter().map(|&line| text_value(table.string(line))).collect();
                self.pay(lines.iter().map(text_bytes).sum())?;
                Value::List(lines)
            }
            Object::Frame(frame) => self.frame_value(frame)?,
            Object::Event(event) => self.event_value(event)?,
        })
    }

    fn body_values(&mut self, body: u32, depth: usize) -> Result<Vec<Value>, TraceError> {
        if body == EMPTY_BODY {
            return Ok(Vec::new());
        }
        let mut values = Vec::new();
        for at in 0..self.bodies[body as usize].len() {
            let item = self.bodies[body as usize][at];
            values.push(self.value_at(item, depth + 1)?);
        }
        Ok(values)
    }

    /// A frame as the dictionary it was.
    fn frame_value(&mut self, id: FrameId) -> Result<Value, TraceError> {
        let table = self.interner.table();
        let frame = table.frame(id);
        let mut pairs = Vec::new();
        for (key, text) in [("name", frame.name), ("filename", frame.file)] {
            if text != StringId::MISSING {
                pairs.push((text_value(key), text_value(table.string(text))));
            }
        }
        if frame.extra.iter().all(|(key, _)| key != "line") {
            pairs.push((text_value("line"), Value::Int(frame.line.into())));
        }
        pairs.extend(frame.extra.iter().map(|(key, value)| (text_value(key), value.clone())));
        self.pay(pairs.iter().map(|(key, value)| text_bytes(key) + text_bytes(value)).sum())?;
        Ok(Value::Dict(pairs))
    }

    /// An event as the dictionary it was.
    fn event_value(&mut self, id: u32) -> Result<Value, TraceError> {
        let event = self.events[id as usize];
        let words = self.event_words[id as usize];
        let table = self.interner.table();
        let mut pairs = Vec::new();
        let mut put = |word: Word, key: &str, value: Value| {
            if words & word.bit() != 0 {
                pairs.push((text_value(key), value));
            }
        };
        put(Word::Action, "action", text_value(crate::export::action_name(table, event.action)));
        put(Word::Addr, "addr", int_value(event.addr));
        put(Word::DeviceFree, "device_free", int_value(event.addr));
        put(Word::Size, "size", int_value(event.bytes));
        put(Word::Stream, "stream", int_value(event.stream));
        put(Word::TimeUs, "time_us", int_value(event.time_us));
        put(Word::CompileContext, "compile_context", text_value(table.string(event.compile_context)));
        put(Word::UserMetadata, "user_metadata", text_value(table.string(event.user_metadata)));
        if !self.event_extra_of(id).iter().any(|(key, _)| key == "module") {
            put(Word::Module, "module", text_value(table.string(event.module)));
        }
        let pool = event.pool.unwrap_or_default();
        put(Word::PoolId, "pool_id", Value::Tuple(vec![int_value(pool.0), int_value(pool.1)]));
        let forward = table.forward(event.forward).iter().map(|&line| text_value(table.string(line))).collect();
        put(Word::ForwardFrames, "forward_frames", Value::List(forward));
        if let Some(category) = event.category.torch_name()
            && !self.event_extra_of(id).iter().any(|(key, _)| key == "category")
        {
            put(Word::Category, "category", text_value(category));
        }
        pairs.extend(self.event_extra_of(id).iter().map(|(key, value)| (text_value(key), value.clone())));
        if words & Word::Frames.bit() != 0 {
            let frames = self.interner.table().stack(event.stack).to_vec();
            let frames = frames.into_iter().map(|frame| self.frame_value(frame)).collect::<Result<_, _>>()?;
            pairs.push((text_value("frames"), Value::List(frames)));
        }
        self.pay(pairs.iter().map(|(key, value)| text_bytes(key) + text_bytes(value)).sum())?;
        Ok(Value::Dict(pairs))
    }

    /// The unknown keys of an event.
    pub(super) fn event_extra_of(&self, id: u32) -> &[(String, Value)] {
        match self.event_extra.binary_search_by_key(&id, |(event, _)| *event) {
            Ok(at) => &self.event_extra[at].1,
            Err(_) => &[],
        }
    }

    /// The pairs of a dictionary whose keys are text.
    pub(super) fn extra_of(&mut self, item: Item, place: &str) -> Result<Extra, TraceError> {
        if let Item::Object(at) = item
            && let Object::Dict { body, .. } = self.objects[at as usize]
        {
            self.check_keys(body, place)?;
        }
        match self.value_of(item)? {
            Value::Dict(pairs) => pairs
                .into_iter()
                .map(|(key, value)| match key {
                    Value::Text(key) => Ok((key, value)),
                    _ => Err(TraceError::shape(place, "has a key that is not text")),
                })
                .collect(),
            _ => Err(TraceError::shape(place, format!("is {}, expected a dictionary", item.kind()))),
        }
    }

    /// The body of a list or tuple; `None` if it is empty.
    pub(super) fn list_body(&mut self, item: Item, place: &str) -> Result<Option<u32>, TraceError> {
        let wrong = || TraceError::shape(place, format!("is {}, expected a list", item.kind()));
        let Item::Object(at) = item else { return Err(wrong()) };
        Ok(match self.objects[at as usize] {
            Object::List { body: EMPTY_BODY, .. } | Object::Tuple { body: EMPTY_BODY } => None,
            Object::List { body, .. } | Object::Tuple { body } => Some(body),
            Object::Stack { id, .. } => Some(self.stack_to_body(id)?),
            _ => return Err(wrong()),
        })
    }

    fn pay(&mut self, bytes: usize) -> Result<(), TraceError> {
        self.extra_bytes_left = self.extra_bytes_left.checked_sub(bytes as u64).ok_or(TraceError::TooLarge {
            what: "bytes in keys oomph does not know, once shared values are written out",
            limit: self.data.len() as u64 * 32,
            way_out: "no memory snapshot looks like this",
        })?;
        Ok(())
    }
}

fn text_value(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn text_bytes(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::Text(text) => text.len(),
            _ => 0,
        }
}

fn int_value(number: u64) -> Value {
    i64::try_from(number).map_or(Value::Unsigned(number), Value::Int)
}
