//! Stacks as a tree: the page needs them from the outermost frame inwards, and stored so they share their beginnings.

use oomph_trace::{FrameId, StackId, StackTable, StringId};
use rustc_hash::FxHashMap;

use super::columns::ColumnWriter;
use super::own_frames::frames_of_job;

/// The stacks a page refers to, renumbered from 0 in order of first use.
#[derive(Debug)]
pub(super) struct StackForest<'a> {
    table: &'a StackTable,
    blame_frames: &'a [Option<FrameId>],
    /// Page stack by trace stack.
    numbers: FxHashMap<StackId, u32>,
    /// Node where each page stack ends; 0 is the root, which is no frame.
    leaves: Vec<u32>,
    /// Frame to name for each page stack, as page frame + 1; 0: none.
    blames: Vec<u32>,
    /// (parent node, page frame) of nodes 1, 2, ...; parents come before their children.
    nodes: Vec<(u32, u32)>,
    node_numbers: FxHashMap<(u32, u32), u32>,
    frames: Vec<FrameId>,
    frame_numbers: FxHashMap<FrameId, u32>,
}

impl<'a> StackForest<'a> {
    pub(super) fn new(table: &'a StackTable, blame_frames: &'a [Option<FrameId>]) -> Self {
        Self {
            table,
            blame_frames,
            numbers: FxHashMap::default(),
            leaves: Vec::new(),
            blames: Vec::new(),
            nodes: Vec::new(),
            node_numbers: FxHashMap::default(),
            frames: Vec::new(),
            frame_numbers: FxHashMap::default(),
        }
    }

    /// The page's number for a stack.
    pub(super) fn number(&mut self, stack: StackId) -> u32 {
        if let Some(&number) = self.numbers.get(&stack) {
            return number;
        }
        let frames = frames_of_job(self.table, stack);
        let mut node = 0;
        for &frame in frames.iter().rev() {
            node = self.child(node, frame);
        }
        let known = self.blame_frames.get(stack.0 as usize).copied().flatten();
        let blame = known.or(frames.first().copied()).map_or(0, |frame| self.frame(frame) + 1);
        let number = self.leaves.len() as u32;
        self.leaves.push(node);
        self.blames.push(blame);
        self.numbers.insert(stack, number);
        number
    }

    fn child(&mut self, parent: u32, frame: FrameId) -> u32 {
        let frame = self.frame(frame);
        if let Some(&node) = self.node_numbers.get(&(parent, frame)) {
            return node;
        }
        self.nodes.push((parent, frame));
        let node = self.nodes.len() as u32;
        self.node_numbers.insert((parent, frame), node);
        node
    }

    fn frame(&mut self, frame: FrameId) -> u32 {
        let frames = &mut self.frames;
        *self.frame_numbers.entry(frame).or_insert_with(|| {
            frames.push(frame);
            frames.len() as u32 - 1
        })
    }

    /// Writes the strings, frames, tree and stacks that were asked for.
    pub(super) fn write(&self, out: &mut ColumnWriter) {
        let mut strings = Vec::new();
        let mut string_numbers = FxHashMap::default();
        let mut number_of = |id: StringId| {
            *string_numbers.entry(id).or_insert_with(|| {
                strings.push(id);
                strings.len() as u64 - 1
            })
        };
        let frames: Vec<_> = self.frames.iter().map(|&id| self.table.frame(id)).collect();
        let names: Vec<_> = frames.iter().map(|frame| number_of(frame.name)).collect();
        let files: Vec<_> = frames.iter().map(|frame| number_of(frame.file)).collect();

        out.number(strings.len() as u64);
        for id in strings {
            out.text(self.table.string(id));
        }
        out.number(frames.len() as u64);
        out.column(names);
        out.column(files);
        out.column(frames.iter().map(|frame| u64::from(frame.line)));
        out.number(self.nodes.len() as u64);
        out.deltas(self.nodes.iter().map(|&(parent, _)| u64::from(parent)));
        out.deltas(self.nodes.iter().map(|&(_, frame)| u64::from(frame)));
        out.number(self.leaves.len() as u64);
        out.column(self.leaves.iter().map(|&node| u64::from(node)));
        out.column(self.blames.iter().map(|&blame| u64::from(blame)));
    }
}
