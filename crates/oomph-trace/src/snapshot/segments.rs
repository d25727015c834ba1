//! From dictionaries to the allocator's final books.

use crate::error::TraceError;
use crate::model::extra::Extra;
use crate::model::segment::{Block, BlockState, PoolId, Segment, SegmentKind};
use crate::model::stack::StackId;

use super::item::{EMPTY_BODY, Item, Object};
use super::store::Store;

/// Segments of the small pool are this large, all others larger: how a file that does not say is read.
const SMALL_SEGMENT_BYTES: u64 = 2 << 20;

/// The sums a segment carries; old files lack some, which are then worked out from the blocks.
#[derive(Default)]
struct Sums {
    total: Option<u64>,
    allocated: Option<u64>,
    active: Option<u64>,
    requested: Option<u64>,
    kind: Option<SegmentKind>,
}

impl Store<'_> {
    /// Reads one segment and the ordinal of its device. `blocks_left` bounds the blocks of all segments together: a
    /// file can refer to one list of blocks any number of times.
    pub(super) fn segment_of(
        &mut self,
        item: Item,
        at: usize,
        blocks_left: &mut usize,
    ) -> Result<(u64, Segment), TraceError> {
        let place = || format!("segment {at}");
        let body = self.dict_body(item, &place())?;
        let (mut device, mut sums, mut blocks) = (0, Sums::default(), None);
        let mut segment = Segment {
            address: 0,
            bytes: 0,
            allocated_bytes: 0,
            active_bytes: 0,
            requested_bytes: 0,
            stream: 0,
            kind: SegmentKind::Large,
            pool: PoolId::DEFAULT,
            expandable: false,
            stack: StackId::MISSING,
            blocks: Vec::new(),
            extra: Extra::new(),
        };
        for index in 0..self.body_len(body) / 2 {
            let (key, value) = self.pair(body, index);
            let int = |key: &str| value.as_u64().ok_or_else(|| wrong(&place(), key, value, "an integer"));
            match &*self.key_text(key, &place())? {
                "device" => device = int("device")?,
                // The profiler's conversion leaves this None where nothing was allocated.
                "address" if matches!(value, Item::None) => {}
                "address" => segment.address = int("address")?,
                "total_size" => sums.total = Some(int("total_size")?),
                "allocated_size" => sums.allocated = Some(int("allocated_size")?),
                "active_size" => sums.active = Some(int("active_size")?),
                "requested_size" => sums.requested = Some(int("requested_size")?),
                "stream" => segment.stream = int("stream")?,
                "segment_type" => sums.kind = self.kind_of(value, &mut segment.extra)?,
                "segment_pool_id" => segment.pool = self.pool_of(value)?,
                "is_expandable" => match value {
                    Item::Bool(flag) => segment.expandable = flag,
                    _ => return Err(wrong(&place(), "is_expandable", value, "a bool")),
                },
                "frames" => segment.stack = self.stack_of(value)?,
                "blocks" => blocks = Some(value),
                other => {
                    let other = other.to_owned();
                    segment.extra.push((other, self.value_of(value)?));
                }
            }
        }
        if let Some(blocks) = blocks {
            segment.blocks = self.blocks_of(blocks, segment.address, &place(), blocks_left)?;
        }
        fill_sums(&mut segment, &sums);
        Ok((device, segment))
    }

    fn blocks_of(
        &mut self,
        list: Item,
        mut next_address: u64,
        place: &str,
        blocks_left: &mut usize,
    ) -> Result<Vec<Block>, TraceError> {
        let Some(body) = self.list_body(list, &format!("{place}, blocks"))? else { return Ok(Vec::new()) };
        let count = self.body_len(body);
        *blocks_left = blocks_left
            .checked_sub(count)
            .ok_or_else(|| TraceError::shape(place, "refers to more blocks than a file of this size can hold"))?;
        let mut blocks = Vec::with_capacity(count);
        for at in 0..count {
            let item = self.bodies[body as usize][at];
            let block = self.block_of(item, next_address, &format!("{place}, block {at}"))?;
            next_address = block.address.wrapping_add(block.bytes);
            blocks.push(block);
        }
        Ok(blocks)
    }

    fn block_of(&mut self, item: Item, next_address: u64, place: &str) -> Result<Block, TraceError> {
        let body = self.dict_body(item, place)?;
        let mut block = Block {
            address: next_address,
            bytes: 0,
            requested_bytes: 0,
            state: BlockState::Inactive,
            stack: StackId::MISSING,
            extra: Extra::new(),
        };
        let mut requested = None;
        for index in 0..self.body_len(body) / 2 {
            let (key, value) = self.pair(body, index);
            let int = |key: &str| value.as_u64().ok_or_else(|| wrong(place, key, value, "an integer"));
            match &*self.key_text(key, place)? {
                "address" => block.address = int("address")?,
                "size" => block.bytes = int("size")?,
                "requested_size" => requested = Some(int("requested_size")?),
                "state" => block.state = self.state_of(value, place)?,
                "frames" => block.stack = self.stack_of(value)?,
                "history" => self.read_history(value, place, &mut block, &mut requested)?,
                other => {
                    let other = other.to_owned();
                    block.extra.push((other, self.value_of(value)?));
                }
            }
        }
        let active = block.state != BlockState::Inactive;
        block.requested_bytes = requested.unwrap_or(if active { block.bytes } else { 0 });
        Ok(block)
    }

    /// Files before torch 2.1 keep the size asked for and the stack in a list, newest first; all of it is also kept
    /// aside, as older entries say what lay there before.
    fn read_history(
        &mut self,
        value: Item,
        place: &str,
        block: &mut Block,
        requested: &mut Option<u64>,
    ) -> Result<(), TraceError> {
        // First, while the frames in it are still as the file has them.
        block.extra.push(("history".to_owned(), self.value_of(value)?));
        let newest = match self.list_body(value, &format!("{place}, history"))? {
            Some(list) => self.bodies[list as usize].first().copied(),
            None => None,
        };
        if let Some(newest) = newest {
            let entry = self.dict_body(newest, &format!("{place}, history"))?;
            for index in 0..self.body_len(entry) / 2 {
                let (key, value) = self.pair(entry, index);
                match &*self.key_text(key, place)? {
                    "real_size" => *requested = requested.or(value.as_u64()),
                    "frames" if block.stack == StackId::MISSING => block.stack = self.stack_of(value)?,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn kind_of(&mut self, value: Item, extra: &mut Extra) -> Result<Option<SegmentKind>, TraceError> {
        let text = match value {
            Item::Text { at, len, .. } => self.text(at, len),
            _ => String::new(),
        };
        Ok(match text.as_str() {
            "small" => Some(SegmentKind::Small),
            "large" => Some(SegmentKind::Large),
            _ => {
                extra.push(("segment_type".to_owned(), self.value_of(value)?));
                None
            }
        })
    }

    fn state_of(&self, value: Item, place: &str) -> Result<BlockState, TraceError> {
        let Item::Text { at, len, .. } = value else { return Err(wrong(place, "state", value, "text")) };
        match self.bytes(at, len) {
            b"active_allocated" => Ok(BlockState::Allocated),
            // PyTorch's documentation says one, its code writes the other.
            b"active_pending_free" | b"active_awaiting_free" => Ok(BlockState::PendingFree),
            b"inactive" => Ok(BlockState::Inactive),
            other => {
                let other = String::from_utf8_lossy(other).chars().take(40).collect::<String>();
                Err(TraceError::shape(place, format!("`state` is `{other}`, which oomph does not know: update oomph")))
            }
        }
    }

    /// The body of a plain dictionary; [`EMPTY_BODY`] if it is empty.
    pub(super) fn dict_body(&self, item: Item, place: &str) -> Result<u32, TraceError> {
        let found = match item {
            Item::Object(at) => match self.objects[at as usize] {
                Object::Dict { body, .. } => {
                    self.check_keys(body, place)?;
                    return Ok(body);
                }
                Object::Event(_) => "an event",
                Object::Frame(_) => "a frame",
                _ => "a list",
            },
            _ => item.kind(),
        };
        Err(TraceError::shape(place, format!("is {found}, expected a dictionary")))
    }

    /// No dictionary holds a key twice.
    pub(super) fn check_keys(&self, body: u32, place: &str) -> Result<(), TraceError> {
        let mut keys = Vec::with_capacity(self.body_len(body) / 2);
        for index in 0..self.body_len(body) / 2 {
            if let (Item::Text { at, len, .. }, _) = self.pair(body, index) {
                keys.push(self.bytes(at, len));
            }
        }
        keys.sort_unstable();
        match keys.windows(2).find(|two| two[0] == two[1]) {
            None => Ok(()),
            Some(two) => {
                let key = String::from_utf8_lossy(two[0]);
                Err(TraceError::shape(place, format!("has the key `{key:.30}` twice: the file is damaged")))
            }
        }
    }

    pub(super) fn body_len(&self, body: u32) -> usize {
        if body == EMPTY_BODY { 0 } else { self.bodies[body as usize].len() }
    }

    pub(super) fn pair(&self, body: u32, index: usize) -> (Item, Item) {
        let items = &self.bodies[body as usize];
        (items[2 * index], items[2 * index + 1])
    }

    pub(super) fn key_text(&self, key: Item, place: &str) -> Result<String, TraceError> {
        match key {
            Item::Text { at, len, .. } => Ok(self.text(at, len)),
            _ => Err(TraceError::shape(place, format!("a key is {}, not text", key.kind()))),
        }
    }
}

fn fill_sums(segment: &mut Segment, sums: &Sums) {
    let blocks = &segment.blocks;
    let sum = |keep: fn(BlockState) -> bool, of: fn(&Block) -> u64| {
        blocks.iter().filter(|block| keep(block.state)).fold(0, |sum: u64, block| sum.saturating_add(of(block)))
    };
    let is_active = |state| state != BlockState::Inactive;
    let total = sums.total.unwrap_or_else(|| sum(|_| true, |block| block.bytes));
    let allocated = sums.allocated.unwrap_or_else(|| sum(|state| state == BlockState::Allocated, |block| block.bytes));
    let active = sums.active.unwrap_or_else(|| sum(is_active, |block| block.bytes));
    let requested = sums.requested.unwrap_or_else(|| sum(is_active, |block| block.requested_bytes));
    segment.kind =
        sums.kind.unwrap_or(if total <= SMALL_SEGMENT_BYTES { SegmentKind::Small } else { SegmentKind::Large });
    segment.bytes = total;
    segment.allocated_bytes = allocated;
    segment.active_bytes = active;
    segment.requested_bytes = requested;
}

fn wrong(place: &str, key: &str, value: Item, wanted: &str) -> TraceError {
    TraceError::shape(place, format!("`{key}` is {}, expected {wanted}", value.kind()))
}
