//! The stack of the calling thread as a number of the box.
//!
//! Nearly always the same stacks come again and again, so a stack is first looked up by a hash over its instructions;
//! only a new one is written out.

use std::sync::atomic::Ordering::Relaxed;

use oomph_box::{FrameNumber, MAX_FRAMES, StackNumber};

use crate::cache::finish;
use crate::code;
use crate::deaths;
use crate::frames::RawFrame;
use crate::interpreter::{self, Interpreter};
use crate::recorder::Recorder;
use crate::threads;

/// A frame that is left out of stacks.
const LEFT_OUT: u32 = u32::MAX;

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
const CALLER_FACTOR: u64 = 0xc2b2_ae3d_27d4_eb4f;
const LIFE_FACTOR: u64 = 0xff51_afd7_ed55_8ccd;
const MODULE_FACTOR: u64 = 0x1656_67b1_9e37_79f9;

#[inline]
fn hash_frame(frame: &RawFrame) -> u64 {
    frame.place.wrapping_add((frame.module as u64).wrapping_mul(MODULE_FACTOR))
}

impl Recorder {
    /// The stack of the calling thread. On autograd's threads, whoever called `backward()` is their caller.
    #[inline]
    pub(crate) fn current_stack(&self) -> StackNumber {
        let thread = threads::current();
        let caller = if thread.is_autograd { self.backward_caller.load(Relaxed) } else { 0 };
        let Some(interpreter) = interpreter::current() else { return StackNumber(caller) };
        let (mut hash, mut depth) = (deaths::count(), 0);
        interpreter.walk(thread.state, |frame| {
            hash = hash.wrapping_mul(FACTOR).wrapping_add(hash_frame(&frame));
            depth += 1;
            depth < MAX_FRAMES
        });
        if depth == 0 {
            return StackNumber(caller);
        }
        let hash = finish(hash.wrapping_add(u64::from(caller).wrapping_mul(CALLER_FACTOR)));
        let new = || self.new_stack(interpreter, thread.state, hash, StackNumber(caller)).0;
        let find = || self.stacks.get(hash).unwrap_or_else(new);
        StackNumber(self.followers.get_or(hash, find))
    }

    #[cold]
    fn new_stack(&self, interpreter: &Interpreter, state: usize, hash: u64, caller: StackNumber) -> StackNumber {
        let mut frames = [FrameNumber(0); MAX_FRAMES];
        let mut used = 0;
        let mut add = |frame: FrameNumber| match frames.get_mut(used) {
            Some(place) => {
                *place = frame;
                used += 1;
                true
            }
            None => false,
        };
        interpreter.walk(state, |frame| match self.frame(interpreter, &frame) {
            LEFT_OUT => true,
            number => add(FrameNumber(number)),
        });
        for index in 0..MAX_FRAMES {
            match self.box_writer().frame_of_stack(caller, index) {
                Some(frame) if add(frame) => {}
                _ => break,
            }
        }
        let stack = self.box_writer().stack(frames.get(..used).unwrap_or_default());
        self.stacks.put(hash, stack.0);
        stack
    }

    /// The number of a frame.
    fn frame(&self, interpreter: &Interpreter, frame: &RawFrame) -> u32 {
        let life = u64::from(deaths::life_of(frame.code)).wrapping_mul(LIFE_FACTOR);
        let hash = finish(hash_frame(frame).wrapping_add(life));
        self.frames.get(hash).unwrap_or_else(|| {
            let number = self.new_frame(interpreter, frame);
            self.frames.put(hash, number);
            number
        })
    }

    fn new_frame(&self, interpreter: &Interpreter, frame: &RawFrame) -> u32 {
        let layout = &interpreter.layout;
        // SAFETY: the frame was just found.
        let Some(at_byte) = (unsafe { interpreter.position(frame) }) else { return LEFT_OUT };
        let mut rooms = ([0; 1024], [0; 1024]);
        // SAFETY: the code is that of a frame of this thread, so it is alive; the layout was proved.
        let (file, function, line) = unsafe {
            (
                code::text(layout, code::field(frame.code, layout.code_file), &mut rooms.0),
                code::text(layout, code::field(frame.code, layout.code_name), &mut rooms.1),
                code::line(layout, frame.code, at_byte),
            )
        };
        if is_own(file, &interpreter.own_folder) {
            return LEFT_OUT;
        }
        self.box_writer().frame(file, function, line, frame.module as u64).0
    }

    /// `backward()` begins or ends on the calling thread. One that is called within another one, on autograd's threads,
    /// has the outer one's caller already.
    pub(crate) fn backward(&self, begins: bool) {
        if begins {
            self.backward_depth.fetch_add(1, Relaxed);
            // Set anew each time, whatever became of the last one: an exception may have kept its end from being said.
            if !threads::current().is_autograd {
                self.backward_caller.store(self.current_stack().0, Relaxed);
            }
        } else {
            let less = |depth: u32| depth.checked_sub(1);
            if let Ok(1) = self.backward_depth.fetch_update(Relaxed, Relaxed, less) {
                self.backward_caller.store(0, Relaxed);
            }
        }
    }
}

/// Whether a file is one of oomph's own.
fn is_own(file: &[u8], own_folder: &[u8]) -> bool {
    file == b"<oomph>"
        || (!own_folder.is_empty()
            && file.strip_prefix(own_folder).is_some_and(|rest| rest.starts_with(b"/") || own_folder.ends_with(b"/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_own_folder_are_left_out() {
        assert!(is_own(b"/a/oomph/watching/steps.py", b"/a/oomph"));
        assert!(is_own(b"/a/oomph/watching/steps.py", b"/a/oomph/"));
        assert!(is_own(b"<oomph>", b""));
        assert!(!is_own(b"/a/oomphs/train.py", b"/a/oomph"));
        assert!(!is_own(b"/a/train.py", b""));
    }
}
