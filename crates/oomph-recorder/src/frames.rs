//! Walks the Python frames of the calling thread.
//!
//! A thread that is inside a call of C code cannot change its own frames, so this needs no GIL.

use crate::code::field;
use crate::interpreter::Interpreter;
use crate::layout::{
    CELL_CONTENT, Frames, OBJECT_CODE_ARGUMENTS, OBJECT_CODE_CELLS, OBJECT_CODE_LOCALS, OBJECT_TYPE, OWNER_GENERATOR,
    OWNER_NOT_PYTHON, REFERENCE_FLAGS, TUPLE_LENGTH,
};

/// A chain that is longer than any stack is no chain.
const MAX_WALK: usize = 100_000;

const OBJECT_INSTRUCTION_SHIFT: u32 = 47;

/// A frame, as it lies in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawFrame {
    /// Its code object.
    pub(crate) code: usize,
    /// Which instruction of which code.
    pub(crate) place: u64,
    /// The module whose call this is, or 0.
    pub(crate) module: usize,
    /// It belongs to a generator or coroutine.
    is_generator: bool,
}

impl Interpreter {
    /// Calls `visit` for every frame of this thread, whose state is given, innermost first, until it returns `false`.
    /// Frames that are being set up are among them, see [`Interpreter::position`].
    #[inline]
    pub(crate) fn walk(&self, thread_state: usize, visit: impl FnMut(RawFrame) -> bool) {
        if thread_state == 0 {
            return;
        }
        let layout = &self.layout;
        // SAFETY: it is this thread's own state, and the layout was proved on this interpreter.
        let innermost = unsafe {
            let frame = field::<usize>(thread_state, layout.thread_frame);
            match layout.frames {
                Frames::ThroughC { current } if frame != 0 => field::<usize>(frame, current),
                _ => frame,
            }
        };
        if layout.frames == Frames::Objects {
            self.walk_objects(innermost, visit);
        } else {
            self.walk_internal(innermost, visit);
        }
    }

    #[inline]
    fn walk_internal(&self, innermost: usize, mut visit: impl FnMut(RawFrame) -> bool) {
        let layout = self.layout;
        let owner_at = layout.frame_owner.unwrap_or(0);
        let mut frame = innermost;
        for _ in 0..MAX_WALK {
            if frame == 0 {
                return;
            }
            // SAFETY: a frame of this thread, of the proved layout.
            let (previous, owner, code, place) = unsafe {
                (
                    field::<usize>(frame, layout.frame_previous),
                    field::<u8>(frame, owner_at),
                    field::<usize>(frame, layout.frame_code) & !REFERENCE_FLAGS,
                    field::<u64>(frame, layout.frame_instruction),
                )
            };
            if owner < OWNER_NOT_PYTHON {
                // SAFETY: this code has an argument: the module.
                let module = if code == self.module_call_code { unsafe { self.module_of(frame) } } else { 0 };
                if !visit(RawFrame { code, place, module, is_generator: owner == OWNER_GENERATOR }) {
                    return;
                }
            }
            frame = previous;
        }
    }

    #[inline(never)]
    fn walk_objects(&self, innermost: usize, mut visit: impl FnMut(RawFrame) -> bool) {
        let layout = &self.layout;
        let mut frame = innermost;
        for _ in 0..MAX_WALK {
            if frame == 0 {
                return;
            }
            // SAFETY: a frame object of this thread, of the proved layout.
            let (code, instruction, previous) = unsafe {
                (
                    field::<usize>(frame, layout.frame_code),
                    field::<i32>(frame, layout.frame_instruction),
                    field::<usize>(frame, layout.frame_previous),
                )
            };
            // SAFETY: this code has an argument: the module.
            let module = if code == self.module_call_code { unsafe { self.module_of(frame) } } else { 0 };
            // Addresses leave the upper bits to the number of the instruction.
            let place = (code as u64).wrapping_add((instruction as u64) << OBJECT_INSTRUCTION_SHIFT);
            if !visit(RawFrame { code, place, module, is_generator: false }) {
                return;
            }
            frame = previous;
        }
    }

    /// Where in its code a frame is, in bytes, negative before the first instruction; `None` if the frame is being set
    /// up, which Python does not show either.
    ///
    /// # Safety
    /// The frame is one that [`Interpreter::walk`] has just found, so its code is alive.
    pub(crate) unsafe fn position(&self, frame: &RawFrame) -> Option<i64> {
        let layout = &self.layout;
        if layout.frames == Frames::Objects {
            let instruction = frame.place.wrapping_sub(frame.code as u64) as i64 >> OBJECT_INSTRUCTION_SHIFT;
            return Some(instruction * 2);
        }
        if frame.code == 0 {
            return None;
        }
        // SAFETY: the caller's promise.
        let first = unsafe { field::<i32>(frame.code, layout.code_first_traceable) };
        let at_byte = frame.place.wrapping_sub((frame.code + layout.code_instructions) as u64) as i64;
        (frame.is_generator || at_byte >= i64::from(first) * 2).then_some(at_byte)
    }

    /// The first argument of a frame, which inner functions may have made a cell of.
    ///
    /// # Safety
    /// `frame` is a frame of this thread whose code has an argument.
    unsafe fn module_of(&self, frame: usize) -> usize {
        // SAFETY: the caller's promise; an argument is an object, a cell, or gone.
        unsafe {
            let argument = field::<usize>(frame, self.layout.frame_locals) & !REFERENCE_FLAGS;
            if argument == 0 && self.layout.frames == Frames::Objects {
                self.argument_in_cell(frame)
            } else if argument != 0 && field::<usize>(argument, OBJECT_TYPE) == self.cell_type {
                field::<usize>(argument, CELL_CONTENT)
            } else {
                argument
            }
        }
    }

    /// Where frames are objects, cells stand behind the local variables, and the code lists which argument each holds.
    ///
    /// # Safety
    /// `frame` is a frame object of this thread.
    unsafe fn argument_in_cell(&self, frame: usize) -> usize {
        // SAFETY: the caller's promise; the list, if there is one, has an entry for each of the code's cells.
        unsafe {
            let code = field::<usize>(frame, self.layout.frame_code);
            let (cells, arguments) =
                (field::<usize>(code, OBJECT_CODE_CELLS), field::<usize>(code, OBJECT_CODE_ARGUMENTS));
            if cells == 0 || arguments == 0 {
                return 0;
            }
            let locals = field::<i32>(code, OBJECT_CODE_LOCALS) as usize;
            let count = field::<usize>(cells, TUPLE_LENGTH);
            let Some(index) = (0..count).find(|index| field::<isize>(arguments, index * 8) == 0) else { return 0 };
            match field::<usize>(frame, self.layout.frame_locals + (locals + index) * 8) {
                0 => 0,
                cell => field::<usize>(cell, CELL_CONTENT),
            }
        }
    }
}
