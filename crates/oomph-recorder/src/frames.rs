//! Walks the Python frames of the calling thread.
//!
//! A thread that is inside a call of C code cannot change its own frames, so this needs no GIL.

use crate::code::field;
use crate::interpreter::Interpreter;
use crate::layout::{CELL_CONTENT, Frames, OBJECT_TYPE, OWNER_GENERATOR, OWNER_NOT_PYTHON, REFERENCE_FLAGS};

/// A chain that is longer than any stack is no chain.
const MAX_WALK: usize = 100_000;

/// A frame, as it lies in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawFrame {
    /// Its code object.
    pub(crate) code: usize,
    /// Which instruction of which code.
    pub(crate) place: u64,
    /// Tells code objects apart that were made in one place.
    pub(crate) identity: u32,
    /// The module whose call this is, or 0.
    pub(crate) module: usize,
    /// The position in the code in bytes; negative before the first instruction.
    pub(crate) at_byte: i64,
}

impl Interpreter {
    /// Calls `visit` for every frame of this thread, innermost first, until it returns `false`.
    #[inline]
    pub(crate) fn walk(&self, visit: impl FnMut(RawFrame) -> bool) {
        let thread_state = self.thread_state();
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
        let layout = &self.layout;
        let owner_at = layout.frame_owner.unwrap_or(0);
        let mut frame = innermost;
        for _ in 0..MAX_WALK {
            if frame == 0 {
                return;
            }
            // SAFETY: a frame of this thread, of the proved layout; frames of C code have no more than a link and an
            // owner that is read.
            let (previous, owner) =
                unsafe { (field::<usize>(frame, layout.frame_previous), field::<u8>(frame, owner_at)) };
            if owner < OWNER_NOT_PYTHON {
                // SAFETY: as above; its code is alive, since it is being run.
                let found = unsafe { self.internal_frame(frame, owner) };
                if found.is_some_and(|found| !visit(found)) {
                    return;
                }
            }
            frame = previous;
        }
    }

    /// # Safety
    /// `frame` is a frame of Python code of this thread.
    #[inline]
    unsafe fn internal_frame(&self, frame: usize, owner: u8) -> Option<RawFrame> {
        let layout = &self.layout;
        // SAFETY: the caller's promise.
        let (code, place) = unsafe {
            (field::<usize>(frame, layout.frame_code) & !REFERENCE_FLAGS, field::<u64>(frame, layout.frame_instruction))
        };
        if code == 0 {
            return None;
        }
        // SAFETY: as above.
        let (identity, first_traceable) =
            unsafe { (field::<u32>(code, layout.code_identity), field::<i32>(code, layout.code_first_traceable)) };
        let at_byte = place.wrapping_sub((code + layout.code_instructions) as u64) as i64;
        // Until then it is being set up, and Python does not show it either.
        if owner != OWNER_GENERATOR && at_byte < i64::from(first_traceable) * 2 {
            return None;
        }
        let module = if code == self.module_call_code {
            // SAFETY: it has an argument: the module.
            unsafe { self.module_of(frame) }
        } else {
            0
        };
        Some(RawFrame { code, place, identity, module, at_byte })
    }

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
            // SAFETY: its code is alive, since it is being run.
            let identity = unsafe { field::<u32>(code, layout.code_identity) };
            // SAFETY: it has an argument: the module.
            let module = if code == self.module_call_code { unsafe { self.module_of(frame) } } else { 0 };
            let place = (code as u64).wrapping_add((instruction as u64) << 48);
            if !visit(RawFrame { code, place, identity, module, at_byte: i64::from(instruction) * 2 }) {
                return;
            }
            frame = previous;
        }
    }

    /// The first argument of a frame, which inner functions may have made a cell of.
    ///
    /// # Safety
    /// `frame` is a frame of this thread whose code has an argument.
    unsafe fn module_of(&self, frame: usize) -> usize {
        // SAFETY: the caller's promise; an argument is an object, a cell, or gone.
        unsafe {
            let argument = field::<usize>(frame, self.layout.frame_locals) & !REFERENCE_FLAGS;
            if argument != 0 && field::<usize>(argument, OBJECT_TYPE) == self.cell_type {
                field::<usize>(argument, CELL_CONTENT)
            } else {
                argument
            }
        }
    }
}
