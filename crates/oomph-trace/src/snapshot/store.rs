//! Where a file's values live while it is read. Dictionaries become events and frames, and lists of frames become
//! stacks, as soon as they are whole.

use crate::error::TraceError;
use crate::intern::Interner;
use crate::model::event::Event;
use crate::model::extra::Extra;
use crate::model::stack::{FrameId, StackId, StringId};

use super::item::{EMPTY_BODY, EVENT_WORDS, FRAME_WORDS, Item, Object, Word};

/// The most values a file may hold outside events and stacks. A real snapshot has a few dozen a segment; without a
/// limit, a file of nothing but one-byte values would need sixteen times its size in memory.
const MAX_LOOSE_ITEMS: usize = 1 << 25;

/// The most that unknown keys may unfold to, beyond 32 bytes a byte of the file: a value referred to many times is
/// written out each time.
const EXTRA_BYTES: u64 = 64 << 20;

/// All values of one file.
pub(super) struct Store<'a> {
    /// The whole file.
    pub(super) data: &'a [u8],
    /// Text that does not stand in the file as it is meant (escapes); addressed as if it followed the file.
    pub(super) decoded: Vec<u8>,
    pub(super) objects: Vec<Object>,
    pub(super) bodies: Vec<Vec<Item>>,
    pub(super) events: Vec<Event>,
    /// Which words each event had, so that it can be turned back into a dictionary.
    pub(super) event_words: Vec<u32>,
    pub(super) event_extra: Vec<(u32, Extra)>,
    pub(super) interner: Interner,
    /// How much more unknown keys may unfold to.
    pub(super) extra_bytes_left: u64,
    /// The string interned last for each word: `compile_context` repeats a million times.
    last_strings: [StringId; 16],
    loose_items: usize,
    frame_buffer: Vec<FrameId>,
}

impl<'a> Store<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self {
            data,
            decoded: Vec::new(),
            objects: Vec::new(),
            bodies: Vec::new(),
            events: Vec::new(),
            event_words: Vec::new(),
            event_extra: Vec::new(),
            interner: Interner::new(),
            extra_bytes_left: EXTRA_BYTES.saturating_add((data.len() as u64).saturating_mul(32)),
            last_strings: [StringId::MISSING; 16],
            loose_items: 0,
            frame_buffer: Vec::new(),
        }
    }

    /// The bytes of a text or bytes item.
    pub(super) fn bytes(&self, at: u64, len: u32) -> &[u8] {
        let (at, len) = (at as usize, len as usize);
        match at.checked_sub(self.data.len()) {
            None => &self.data[at..at + len],
            Some(at) => &self.decoded[at..at + len],
        }
    }

    /// A text that stands in the file itself.
    pub(super) fn text_at(&self, at: usize, len: usize) -> Result<Item, TraceError> {
        let len = length(at, len)?;
        Ok(Item::Text { word: Word::of(&self.data[at..at + len as usize]), len, at: at as u64 })
    }

    /// A text that had to be decoded.
    pub(super) fn decoded_text(&mut self, text: &str) -> Result<Item, TraceError> {
        let at = self.data.len() + self.decoded.len();
        let len = length(at, text.len())?;
        self.decoded.extend_from_slice(text.as_bytes());
        Ok(Item::Text { word: Word::of(text.as_bytes()), len, at: at as u64 })
    }

    /// Bytes that stand in the file itself.
    pub(super) fn bytes_at(at: usize, len: usize) -> Result<Item, TraceError> {
        Ok(Item::Bytes { len: length(at, len)?, at: at as u64 })
    }

    /// The handle of a text item that is the value of a word.
    pub(super) fn intern(&mut self, word: Word, at: u64, len: u32) -> StringId {
        let last = self.last_strings[word as usize];
        if last != StringId::MISSING && self.interner.table().string(last).as_bytes() == self.bytes(at, len) {
            return last;
        }
        let (data, decoded, at, len) = (self.data, &self.decoded, at as usize, len as usize);
        let bytes = at.checked_sub(data.len()).map_or_else(|| &data[at..at + len], |at| &decoded[at..at + len]);
        // Python writes lone surrogates as they are; they are no UTF-8 and become U+FFFD.
        let id = self.interner.intern_string(&String::from_utf8_lossy(bytes));
        self.last_strings[word as usize] = id;
        id
    }

    pub(super) fn add_object(&mut self, object: Object) -> Result<Item, TraceError> {
        let id = index(self.objects.len())?;
        self.objects.push(object);
        Ok(Item::Object(id))
    }

    pub(super) fn new_list(&mut self) -> Result<Item, TraceError> {
        self.add_object(Object::List { body: EMPTY_BODY, used: false })
    }

    pub(super) fn new_dict(&mut self) -> Result<Item, TraceError> {
        self.add_object(Object::Dict { body: EMPTY_BODY, used: false })
    }

    pub(super) fn new_tuple(&mut self, items: &[Item]) -> Result<Item, TraceError> {
        if let [Item::Int(first), Item::Int(second)] = *items
            && let (Ok(first), Ok(second)) = (u32::try_from(first), u32::try_from(second))
        {
            return Ok(Item::Pair(first, second));
        }
        let body = self.extend_body(EMPTY_BODY, items)?;
        self.add_object(Object::Tuple { body })
    }

    /// Whether this is a list nothing has been put into.
    pub(super) fn is_empty_list(&self, item: Item) -> bool {
        matches!(item, Item::Object(id)
            if matches!(self.objects[id as usize], Object::List { body: EMPTY_BODY, used: false }))
    }

    /// Makes a list that is still empty a stack.
    pub(super) fn set_stack(&mut self, list: Item, id: StackId) {
        if let Item::Object(at) = list {
            self.objects[at as usize] = Object::Stack { id, used: false };
        }
    }

    /// Puts items at the end of a list. A list of frames becomes a stack at once.
    pub(super) fn append(&mut self, list: Item, items: &[Item], offset: usize) -> Result<(), TraceError> {
        let Item::Object(at) = list else { return Err(not_a(list, "list", offset)) };
        let object = match self.objects[at as usize] {
            Object::List { used: true, .. } | Object::Stack { used: true, .. } | Object::Forward(_) => {
                return Err(changed_after_use(offset));
            }
            Object::List { body: EMPTY_BODY, .. } => match self.frames_of(&[], items) {
                Some(id) => Object::Stack { id: id?, used: false },
                None => Object::List { body: self.extend_body(EMPTY_BODY, items)?, used: false },
            },
            Object::List { body, .. } => Object::List { body: self.extend_body(body, items)?, used: false },
            Object::Stack { id, .. } => {
                let begun = self.interner.table().stack(id).to_vec();
                if let Some(longer) = self.frames_of(&begun, items) {
                    Object::Stack { id: longer?, used: false }
                } else {
                    let body = self.stack_to_body(id)?;
                    Object::List { body: self.extend_body(body, items)?, used: false }
                }
            }
            Object::Dict { .. } | Object::Tuple { .. } | Object::Frame(_) | Object::Event(_) => {
                return Err(not_a(list, "list", offset));
            }
        };
        self.objects[at as usize] = object;
        Ok(())
    }

    /// Puts alternating keys and values into a dictionary. One that has all that makes an event or a frame becomes
    /// that at once.
    pub(super) fn set_items(&mut self, dict: Item, pairs: &[Item], offset: usize) -> Result<(), TraceError> {
        let Item::Object(at) = dict else { return Err(not_a(dict, "dictionary", offset)) };
        if !pairs.len().is_multiple_of(2) {
            return Err(TraceError::malformed(offset, "a dictionary has a key without a value: the file is damaged"));
        }
        let object = match self.objects[at as usize] {
            Object::Dict { used: true, .. } => return Err(changed_after_use(offset)),
            Object::Dict { body: EMPTY_BODY, .. } => self.whole_dict(pairs)?,
            Object::Dict { body, .. } => Object::Dict { body: self.extend_body(body, pairs)?, used: false },
            Object::Frame(_) | Object::Event(_) => {
                return Err(TraceError::malformed(
                    offset,
                    "an event or frame is changed after it was finished: the file is damaged or cyclic",
                ));
            }
            Object::List { .. } | Object::Tuple { .. } | Object::Stack { .. } | Object::Forward(_) => {
                return Err(not_a(dict, "dictionary", offset));
            }
        };
        self.objects[at as usize] = object;
        Ok(())
    }

    /// What a dictionary with these pairs is. One that only looks like an event or a frame stays a dictionary.
    fn whole_dict(&mut self, pairs: &[Item]) -> Result<Object, TraceError> {
        let words = words(pairs);
        if words & EVENT_WORDS == EVENT_WORDS
            && let Ok(event) = self.event_of(pairs)
        {
            return Ok(Object::Event(event));
        }
        if words & FRAME_WORDS == FRAME_WORDS
            && let Ok(frame) = self.frame_of(pairs)
        {
            return Ok(Object::Frame(frame));
        }
        Ok(Object::Dict { body: self.extend_body(EMPTY_BODY, pairs)?, used: false })
    }

    /// The stack of frames already known and these items; `None` if one of them is no frame.
    fn frames_of(&mut self, begun: &[FrameId], items: &[Item]) -> Option<Result<StackId, TraceError>> {
        if items.is_empty() {
            return None;
        }
        let mut frames = std::mem::take(&mut self.frame_buffer);
        frames.clear();
        frames.extend_from_slice(begun);
        let all = items.iter().all(|&item| match item {
            Item::Object(at) => match self.objects[at as usize] {
                Object::Frame(frame) => {
                    frames.push(frame);
                    true
                }
                _ => false,
            },
            _ => false,
        });
        let stack = all.then(|| self.intern_stack(&frames));
        self.frame_buffer = frames;
        stack
    }

    pub(super) fn intern_stack(&mut self, frames: &[FrameId]) -> Result<StackId, TraceError> {
        // The table counts frames of distinct stacks in 32 bits.
        if self.interner.table().stack_frames.len() + frames.len() >= u32::MAX as usize {
            return Err(TraceError::TooLarge {
                what: "frames in distinct stacks",
                limit: u64::from(u32::MAX),
                way_out: "record fewer events or with stacks=\"python\"",
            });
        }
        Ok(self.interner.intern_stack(frames))
    }

    /// Turns a stack back into a list, because something else than a frame joins it.
    pub(super) fn stack_to_body(&mut self, id: StackId) -> Result<u32, TraceError> {
        let frames = self.interner.table().stack(id).to_vec();
        let mut items = Vec::with_capacity(frames.len());
        for frame in frames {
            items.push(self.add_object(Object::Frame(frame))?);
        }
        self.extend_body(EMPTY_BODY, &items)
    }

    /// Adds items to a body, or starts one.
    fn extend_body(&mut self, body: u32, items: &[Item]) -> Result<u32, TraceError> {
        // A body costs about as much as four items, however short.
        self.loose_items += items.len() + if body == EMPTY_BODY { 4 } else { 0 };
        if self.loose_items > MAX_LOOSE_ITEMS {
            return Err(TraceError::TooLarge {
                what: "values that are neither events nor stacks",
                limit: MAX_LOOSE_ITEMS as u64,
                way_out: "no memory snapshot looks like this",
            });
        }
        if body == EMPTY_BODY {
            let at = index(self.bodies.len())?;
            self.bodies.push(items.to_vec());
            return Ok(at);
        }
        self.bodies[body as usize].extend_from_slice(items);
        Ok(body)
    }
}

/// The set of the format's words among the keys.
pub(super) fn words(pairs: &[Item]) -> u32 {
    pairs.iter().step_by(2).fold(0, |words, key| match key {
        Item::Text { word, .. } => words | word.bit(),
        _ => words,
    })
}

fn index(len: usize) -> Result<u32, TraceError> {
    u32::try_from(len).ok().filter(|&at| at < u32::MAX).ok_or(TraceError::TooLarge {
        what: "lists and dictionaries",
        limit: u64::from(u32::MAX),
        way_out: "record fewer events",
    })
}

fn length(at: usize, len: usize) -> Result<u32, TraceError> {
    u32::try_from(len).map_err(|_| TraceError::malformed(at, "a text of more than 4 GiB: the file is damaged"))
}

fn not_a(item: Item, wanted: &str, offset: usize) -> TraceError {
    TraceError::malformed(offset, format!("values are put into {}, not a {wanted}: the file is damaged", item.kind()))
}

fn changed_after_use(offset: usize) -> TraceError {
    TraceError::malformed(offset, "a list or dictionary contains itself: memory snapshots are never cyclic")
}
