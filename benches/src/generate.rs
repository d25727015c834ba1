//! Writes a snapshot byte for byte as Python's pickler writes PyTorch's: protocol 4, frames of 64 KiB, one shared
//! dictionary a frame, a fresh list an event.

use std::io::{self, Write};

use rustc_hash::FxHashMap;

use crate::simulate::{Job, Kind, Op, Random, Region, simulate};

/// Python ends a FRAME once it holds this much.
const FRAME_BYTES: usize = 64 << 10;

/// Python puts at most this many elements between a MARK and its APPENDS.
const BATCH: usize = 1000;

/// Writes a snapshot of a simulated job: `events` entries on one device, with `stacks` distinct stacks of `frames`
/// frames each. The same arguments give the same bytes.
///
/// # Errors
/// If `out` fails.
pub fn generate(events: usize, frames: u32, stacks: u32, seed: u64, out: &mut impl Write) -> io::Result<()> {
    let stacks = stacks.max(1);
    let job = simulate(events, stacks, seed);
    let stack_frames = invent_stacks(frames, stacks, seed);
    let mut writer =
        Writer { out, pending: Vec::new(), memo_len: 0, words: FxHashMap::default(), frames: FxHashMap::default() };
    writer.out.write_all(b"\x80\x04")?;
    writer.snapshot(&job, &stack_frames)?;
    writer.op(b'.')?;
    writer.end_frame()?;
    writer.out.flush()
}

/// Stacks as a training script has them: the outer half is one of a few loops, the inner half differs.
fn invent_stacks(frames: u32, stacks: u32, seed: u64) -> Vec<Vec<u32>> {
    let mut random = Random(seed ^ 0x5eed | 1);
    let loops = 8;
    (0..stacks)
        .map(|stack| {
            let outer = (random.next() % loops) as u32;
            (0..frames)
                .map(|depth| {
                    if depth == 0 {
                        1_000_000 + stack
                    } else if depth < frames / 2 {
                        10_000 + depth * 40 + (random.next() % 40) as u32
                    } else {
                        outer * 200 + depth
                    }
                })
                .collect()
        })
        .collect()
}

struct Writer<'w, W: Write> {
    out: &'w mut W,
    /// The FRAME being filled.
    pending: Vec<u8>,
    memo_len: u32,
    words: FxHashMap<&'static str, u32>,
    frames: FxHashMap<u32, u32>,
}

impl<W: Write> Writer<'_, W> {
    fn snapshot(&mut self, job: &Job, stacks: &[Vec<u32>]) -> io::Result<()> {
        self.open(b'}')?;
        self.op(b'(')?;
        self.word("segments")?;
        self.open(b']')?;
        self.batches(&job.regions, |to, region| to.segment(region, stacks))?;
        self.word("device_traces")?;
        self.open(b']')?;
        self.open(b']')?;
        let mut time_us = 1_790_000_000_000_000;
        self.batches(&job.ops, |to, op| {
            time_us += 3;
            to.event(op, time_us, &stacks[op.stack as usize])
        })?;
        self.op(b'a')?;
        self.word("allocator_settings")?;
        self.settings()?;
        self.word("external_annotations")?;
        self.open(b']')?;
        self.op(b'u')
    }

    fn segment(&mut self, region: &Region, stacks: &[Vec<u32>]) -> io::Result<()> {
        let held = || region.slabs.iter().filter(|slab| slab.held);
        let held_bytes = held().map(|slab| slab.bytes).sum();
        self.open(b'}')?;
        self.op(b'(')?;
        self.number("device", 0)?;
        self.number("address", region.addr)?;
        self.number("total_size", region.bytes)?;
        self.number("allocated_size", held_bytes)?;
        self.number("active_size", held_bytes)?;
        self.number("requested_size", held().map(|slab| slab.requested_bytes).sum())?;
        self.number("stream", 0)?;
        self.word("segment_type")?;
        self.word(if region.small { "small" } else { "large" })?;
        self.word("segment_pool_id")?;
        self.pending.extend_from_slice(b"K\0K\0\x86");
        self.memoize()?;
        self.word("is_expandable")?;
        self.op(0x89)?;
        self.word("frames")?;
        self.stack(&stacks[region.stack as usize])?;
        self.word("blocks")?;
        self.open(b']')?;
        let blocks = blocks_of(region);
        self.batches(&blocks, |to, &(addr, bytes, requested_bytes, stack)| {
            to.open(b'}')?;
            to.op(b'(')?;
            to.number("address", addr)?;
            to.number("size", bytes)?;
            to.number("requested_size", requested_bytes)?;
            to.word("state")?;
            to.word(if stack.is_some() { "active_allocated" } else { "inactive" })?;
            to.word("frames")?;
            to.stack(stack.map_or(&[], |stack| &stacks[stack as usize]))?;
            to.op(b'u')
        })?;
        self.op(b'u')
    }

    fn event(&mut self, op: &Op, time_us: u64, stack: &[u32]) -> io::Result<()> {
        self.open(b'}')?;
        self.op(b'(')?;
        self.word("action")?;
        self.word(match op.kind {
            Kind::SegmentAlloc => "segment_alloc",
            Kind::Alloc => "alloc",
            Kind::FreeRequested => "free_requested",
            Kind::FreeCompleted => "free_completed",
        })?;
        self.number("addr", op.addr)?;
        self.number("size", op.bytes)?;
        self.number("stream", 0)?;
        self.number("time_us", time_us)?;
        self.word("compile_context")?;
        // PyTorch makes a new string for each event here, and Python has but one empty string.
        self.text("N/A")?;
        self.memoize()?;
        self.word("user_metadata")?;
        self.word("")?;
        self.word("frames")?;
        self.stack(stack)?;
        self.op(b'u')
    }

    fn settings(&mut self) -> io::Result<()> {
        self.open(b'}')?;
        self.op(b'(')?;
        self.word("PYTORCH_CUDA_ALLOC_CONF")?;
        self.word("")?;
        self.word("max_split_size")?;
        self.pending.extend_from_slice(b"J\xff\xff\xff\xff");
        self.word("garbage_collection_threshold")?;
        self.pending.extend_from_slice(b"G\0\0\0\0\0\0\0\0");
        self.word("expandable_segments")?;
        self.op(0x89)?;
        self.op(b'u')
    }

    fn stack(&mut self, frames: &[u32]) -> io::Result<()> {
        self.open(b']')?;
        self.batches(frames, |to, &frame| to.frame(frame))
    }

    fn frame(&mut self, frame: u32) -> io::Result<()> {
        if let Some(&slot) = self.frames.get(&frame) {
            return self.get(slot);
        }
        self.op(b'}')?;
        let slot = self.memoize()?;
        self.frames.insert(frame, slot);
        self.op(b'(')?;
        self.word("name")?;
        self.text(&format!("function_{frame}"))?;
        self.memoize()?;
        self.word("filename")?;
        self.text(&format!("/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module_{}.py", frame % 97))?;
        self.memoize()?;
        self.number("line", u64::from(frame % 2000))?;
        self.op(b'u')
    }

    /// The elements of a list whose opcode has been written.
    fn batches<T>(&mut self, elements: &[T], mut one: impl FnMut(&mut Self, &T) -> io::Result<()>) -> io::Result<()> {
        for batch in elements.chunks(BATCH) {
            if let [only] = batch {
                one(self, only)?;
                self.op(b'a')?;
                continue;
            }
            self.op(b'(')?;
            for element in batch {
                one(self, element)?;
            }
            self.op(b'e')?;
        }
        Ok(())
    }

    fn number(&mut self, key: &'static str, number: u64) -> io::Result<()> {
        self.word(key)?;
        if let Ok(number) = u8::try_from(number) {
            self.pending.extend_from_slice(&[b'K', number]);
        } else if let Ok(number) = u16::try_from(number) {
            self.pending.push(b'M');
            self.pending.extend_from_slice(&number.to_le_bytes());
        } else if let Ok(number) = i32::try_from(number) {
            self.pending.push(b'J');
            self.pending.extend_from_slice(&number.to_le_bytes());
        } else {
            let len = 8 - number.leading_zeros() as usize / 8;
            let len = if number >> (len * 8 - 1) == 1 { len + 1 } else { len };
            self.pending.extend_from_slice(&[0x8a, len as u8]);
            self.pending.extend_from_slice(&number.to_le_bytes()[..len]);
        }
        self.boundary()
    }

    fn word(&mut self, word: &'static str) -> io::Result<()> {
        if let Some(&slot) = self.words.get(word) {
            return self.get(slot);
        }
        self.text(word)?;
        let slot = self.memoize()?;
        self.words.insert(word, slot);
        Ok(())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.pending.extend_from_slice(&[0x8c, text.len() as u8]);
        self.pending.extend_from_slice(text.as_bytes());
        self.boundary()
    }

    fn get(&mut self, slot: u32) -> io::Result<()> {
        if let Ok(slot) = u8::try_from(slot) {
            self.pending.extend_from_slice(&[b'h', slot]);
        } else {
            self.pending.push(b'j');
            self.pending.extend_from_slice(&slot.to_le_bytes());
        }
        self.boundary()
    }

    fn open(&mut self, opcode: u8) -> io::Result<()> {
        self.op(opcode)?;
        self.memoize().map(drop)
    }

    fn memoize(&mut self) -> io::Result<u32> {
        self.op(0x94)?;
        self.memo_len += 1;
        Ok(self.memo_len - 1)
    }

    fn op(&mut self, opcode: u8) -> io::Result<()> {
        self.pending.push(opcode);
        self.boundary()
    }

    fn boundary(&mut self) -> io::Result<()> {
        if self.pending.len() >= FRAME_BYTES { self.end_frame() } else { Ok(()) }
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.out.write_all(b"\x95")?;
        self.out.write_all(&(self.pending.len() as u64).to_le_bytes())?;
        self.out.write_all(&self.pending)?;
        self.pending.clear();
        Ok(())
    }
}

/// A region's blocks in address order: `(address, bytes, requested bytes, stack if held)`.
fn blocks_of(region: &Region) -> Vec<(u64, u64, u64, Option<u32>)> {
    let mut blocks: Vec<_> = region
        .slabs
        .iter()
        .map(|slab| {
            (slab.addr, slab.bytes, if slab.held { slab.requested_bytes } else { 0 }, slab.held.then_some(slab.stack))
        })
        .collect();
    let end = region.slabs.last().map_or(region.addr, |slab| slab.addr + slab.bytes);
    if end < region.addr + region.bytes {
        blocks.push((end, region.addr + region.bytes - end, 0, None));
    }
    blocks
}
