//! From dictionaries to events and frames.

use crate::error::TraceError;
use crate::model::event::{Action, Category, Event};
use crate::model::extra::{Extra, Value};
use crate::model::segment::PoolId;
use crate::model::stack::{ForwardId, Frame, FrameId, StackId, StringId};

use super::item::{EMPTY_BODY, Item, Object, Word};
use super::store::{Store, words};

impl Store<'_> {
    /// Makes an event of a dictionary and keeps it; returns its position in [`Store::events`].
    pub(super) fn event_of(&mut self, pairs: &[Item]) -> Result<u32, TraceError> {
        let mut event = Event {
            addr: 0,
            bytes: 0,
            stream: 0,
            time_us: 0,
            stack: StackId::MISSING,
            forward: ForwardId::NONE,
            compile_context: StringId::MISSING,
            user_metadata: StringId::MISSING,
            module: StringId::MISSING,
            action: Action::Snapshot,
            category: Category::Unknown,
            pool: None,
        };
        let mut extra = Extra::new();
        let words = distinct_words(pairs, "event")?;
        for pair in pairs.chunks_exact(2) {
            let (key, value) = (pair[0], pair[1]);
            let Item::Text { word, len, at } = key else {
                return Err(TraceError::shape("event", format!("a key is {}, not text", key.kind())));
            };
            if !self.set_event_field(&mut event, word, value, &mut extra)? {
                extra.push((self.text(at, len), self.value_of(value)?));
            }
        }
        if words & Word::Action.bit() == 0 {
            return Err(TraceError::shape("event", "has no `action`"));
        }
        let id = u32::try_from(self.events.len()).ok().filter(|&id| id < u32::MAX).ok_or(TraceError::TooLarge {
            what: "events",
            limit: u64::from(u32::MAX),
            way_out: "record fewer with max_entries",
        })?;
        self.events.push(event);
        self.event_words.push(words);
        if !extra.is_empty() {
            self.event_extra.push((id, extra));
        }
        Ok(id)
    }

    /// Sets the field a key stands for; `false` if it stands for none.
    fn set_event_field(
        &mut self,
        event: &mut Event,
        word: Word,
        value: Item,
        extra: &mut Extra,
    ) -> Result<bool, TraceError> {
        match word {
            Word::Action => event.action = self.action_of(value)?,
            Word::Addr | Word::DeviceFree => event.addr = number("event", word, value)?,
            Word::Size => event.bytes = number("event", word, value)?,
            Word::Stream => event.stream = number("event", word, value)?,
            Word::TimeUs => event.time_us = number("event", word, value)?,
            Word::CompileContext => event.compile_context = self.string_of("event", word, value)?,
            Word::UserMetadata => event.user_metadata = self.string_of("event", word, value)?,
            // Whatever else calls itself a module here is kept as it stands.
            Word::Module => match value {
                Item::Text { at, len, .. } => event.module = self.intern(word, at, len),
                _ => return Ok(false),
            },
            Word::Frames => event.stack = self.stack_of(value)?,
            Word::ForwardFrames => event.forward = self.forward_of(value)?,
            Word::PoolId => event.pool = Some(self.pool_of(value)?),
            Word::Category => event.category = self.category_of(value, extra)?,
            Word::Name | Word::Filename | Word::Line | Word::Other => return Ok(false),
        }
        Ok(true)
    }

    /// Makes a frame of a dictionary.
    pub(super) fn frame_of(&mut self, pairs: &[Item]) -> Result<FrameId, TraceError> {
        distinct_words(pairs, "frame")?;
        let mut frame = Frame { name: StringId::MISSING, file: StringId::MISSING, line: 0, extra: Extra::new() };
        for pair in pairs.chunks_exact(2) {
            let (key, value) = (pair[0], pair[1]);
            let Item::Text { word, len, at } = key else {
                return Err(TraceError::shape("frame", format!("a key is {}, not text", key.kind())));
            };
            match word {
                Word::Name => frame.name = self.string_of("frame", word, value)?,
                Word::Filename => frame.file = self.string_of("frame", word, value)?,
                // A line Python could not tell (-1, or that as an unsigned number) is kept as it stands.
                Word::Line => match value.as_u64().map(u32::try_from) {
                    Some(Ok(line)) => frame.line = line,
                    Some(Err(_)) => frame.extra.push(("line".to_owned(), self.value_of(value)?)),
                    None => return Err(wrong("frame", word, value, "an integer")),
                },
                _ => frame.extra.push((self.text(at, len), self.value_of(value)?)),
            }
        }
        Ok(self.interner.intern_frame(frame))
    }

    fn action_of(&mut self, value: Item) -> Result<Action, TraceError> {
        let Item::Text { at, len, .. } = value else { return Err(wrong("event", Word::Action, value, "text")) };
        Ok(match Action::from_name(self.bytes(at, len)) {
            Some(action) => action,
            None => Action::Other(self.intern(Word::Action, at, len)),
        })
    }

    /// The category, with the text kept aside where the category alone does not give it back.
    fn category_of(&mut self, value: Item, extra: &mut Extra) -> Result<Category, TraceError> {
        let Item::Text { at, len, .. } = value else { return Err(wrong("event", Word::Category, value, "text")) };
        let text = self.text(at, len);
        let category = Category::from_torch_name(&text);
        if category.torch_name() != Some(&text) {
            extra.push(("category".to_owned(), Value::Text(text)));
        }
        Ok(category)
    }

    pub(super) fn pool_of(&mut self, value: Item) -> Result<PoolId, TraceError> {
        let not_two = || TraceError::shape("pool id", "is not a pair of integers");
        if let Item::Pair(first, second) = value {
            return Ok(PoolId(first.into(), second.into()));
        }
        let body = self.list_body(value, "pool id")?.ok_or_else(not_two)?;
        match *self.bodies[body as usize] {
            [first, second] => Ok(PoolId(first.as_u64().ok_or_else(not_two)?, second.as_u64().ok_or_else(not_two)?)),
            _ => Err(not_two()),
        }
    }

    /// The stack a `frames` value is. Whatever it was, from now on it is that stack.
    pub(super) fn stack_of(&mut self, value: Item) -> Result<StackId, TraceError> {
        let Item::Object(at) = value else { return Err(wrong("frames", Word::Frames, value, "a list")) };
        let id = match self.objects[at as usize] {
            Object::Stack { id, .. } => id,
            Object::List { body: EMPTY_BODY, .. } => StackId::EMPTY,
            Object::List { body, .. } | Object::Tuple { body } => self.stack_from_body(body)?,
            _ => return Err(wrong("frames", Word::Frames, value, "a list")),
        };
        self.objects[at as usize] = Object::Stack { id, used: true };
        Ok(id)
    }

    fn stack_from_body(&mut self, body: u32) -> Result<StackId, TraceError> {
        // The body stays whole until all of it is understood: a failed attempt is repeated to tell what is wrong.
        let mut frames = Vec::new();
        for index in 0..self.bodies[body as usize].len() {
            let item = self.bodies[body as usize][index];
            let Item::Object(at) = item else { return Err(wrong("frames", Word::Frames, item, "a frame")) };
            frames.push(match self.objects[at as usize] {
                Object::Frame(frame) => frame,
                Object::Dict { body: EMPTY_BODY, .. } => self.frame_of(&[])?,
                Object::Dict { body, .. } => {
                    let pairs = self.bodies[body as usize].clone();
                    self.frame_of(&pairs)?
                }
                _ => return Err(wrong("frames", Word::Frames, item, "a frame")),
            });
        }
        self.bodies[body as usize] = Vec::new();
        self.intern_stack(&frames)
    }

    fn forward_of(&mut self, value: Item) -> Result<ForwardId, TraceError> {
        if let Item::Object(at) = value
            && let Object::Forward(id) = self.objects[at as usize]
        {
            return Ok(id);
        }
        let mut lines = Vec::new();
        if let Some(body) = self.list_body(value, "forward_frames")? {
            for at in 0..self.bodies[body as usize].len() {
                let line = self.bodies[body as usize][at];
                lines.push(self.string_of("forward_frames", Word::ForwardFrames, line)?);
            }
            self.bodies[body as usize] = Vec::new();
        }
        let id = self.interner.intern_forward(&lines);
        if let Item::Object(at) = value {
            self.objects[at as usize] = Object::Forward(id);
        }
        Ok(id)
    }

    fn string_of(&mut self, place: &str, word: Word, value: Item) -> Result<StringId, TraceError> {
        match value {
            Item::Text { at, len, .. } => Ok(self.intern(word, at, len)),
            _ => Err(wrong(place, word, value, "text")),
        }
    }

    pub(super) fn text(&self, at: u64, len: u32) -> String {
        String::from_utf8_lossy(self.bytes(at, len)).into_owned()
    }
}

/// The set of the format's words among the keys, each of which may stand there once.
fn distinct_words(pairs: &[Item], place: &str) -> Result<u32, TraceError> {
    let known = |key: &&Item| matches!(key, Item::Text { word, .. } if *word != Word::Other);
    let words = words(pairs) & !Word::Other.bit();
    if words.count_ones() as usize == pairs.iter().step_by(2).filter(known).count() {
        return Ok(words);
    }
    Err(TraceError::shape(place, "has a key twice: the file is damaged"))
}

fn number(place: &str, word: Word, value: Item) -> Result<u64, TraceError> {
    value.as_u64().ok_or_else(|| wrong(place, word, value, "an integer"))
}

fn wrong(place: &str, word: Word, value: Item, wanted: &str) -> TraceError {
    TraceError::shape(place, format!("`{}` is {}, expected {wanted}", word.name(), value.kind()))
}
