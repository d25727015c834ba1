//! The Python interpreter of this process: which one it is, and the proof that its frames are as expected.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::code;
use crate::deaths;
use crate::layout::{self, Frames, Layout, TEXT_ASCII_STATE, TEXT_KIND_SHIFTS, TEXT_STATE};
use crate::python::{Clear, Count, Object, TextFrom, function};
use oomph_elf as elf;

/// Frames that are compared with what the interpreter says.
const PROVED_FRAMES: usize = 64;

type AtExit = extern "C" fn(extern "C" fn()) -> c_int;
type Get = extern "C" fn() -> Object;
type GetOf = unsafe extern "C" fn(Object) -> Object;
type LineOf = unsafe extern "C" fn(Object) -> c_int;
type TextOf = unsafe extern "C" fn(Object) -> *const c_char;
type Attribute = unsafe extern "C" fn(Object, *const c_char) -> Object;

/// What is needed to walk frames.
pub(crate) struct Interpreter {
    pub(crate) layout: Layout,
    /// The code object of `Module.__call__`, or 0.
    pub(crate) module_call_code: usize,
    /// The type of cells.
    pub(crate) cell_type: usize,
    /// Files below this folder are oomph's own.
    pub(crate) own_folder: Vec<u8>,
    get_thread_state: Get,
}

static CURRENT: AtomicPtr<Interpreter> = AtomicPtr::new(std::ptr::null_mut());

/// The interpreter, once its frames were proved to be as expected.
#[inline]
pub(crate) fn current() -> Option<&'static Interpreter> {
    // SAFETY: the pointer is null or came from `Box::leak` in `set_up`.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }
}

/// Finds out about the interpreter. The GIL is held.
pub(crate) fn set_up(hex_version: u32, module_call_code: usize, own_folder: &[u8]) -> Result<(), &'static str> {
    let mut layout = layout::of_version(hex_version).ok_or("frames of this version of Python are not known")?;
    let functions = Functions::find().ok_or("the functions of the Python interpreter are not found")?;
    if layout.frames == Frames::Direct && !agrees_with_debug_offsets(&layout) {
        return Err("this build of Python describes its frames differently");
    }
    layout.text_kind_shift =
        functions.text_kind_shift().ok_or("the strings of this build of Python are not as expected")?;
    let interpreter = Interpreter {
        layout,
        module_call_code,
        cell_type: functions.cell_type,
        own_folder: own_folder.to_vec(),
        get_thread_state: functions.get_thread_state,
    };
    if !functions.agree_with(&interpreter) {
        return Err("the frames of this build of Python are not as expected");
    }
    deaths::watch()?;
    if !functions.tell_end() {
        return Err("this Python does not tell when it ends");
    }
    CURRENT.store(Box::leak(Box::new(interpreter)), Ordering::Release);
    Ok(())
}

impl Interpreter {
    /// The state of the calling thread; 0 if Python does not know it.
    pub(crate) fn thread_state(&self) -> usize {
        (self.get_thread_state)() as usize
    }
}

/// From 3.13 the interpreter itself lists offsets: `_PyRuntime` begins with a cookie, the version, whether it was built
/// without the GIL, and lists by structure. Lists were added in later versions, so those of threads and frames are found
/// by how every list of threads begins: its links are its first three words.
fn agrees_with_debug_offsets(layout: &Layout) -> bool {
    const COOKIE: u64 = u64::from_le_bytes(*b"xdebugpy");
    const WORDS: usize = 64;
    let Some(runtime) = elf::global_symbol(c"_PyRuntime") else { return false };
    // SAFETY: the runtime's state is far larger.
    let words = unsafe { std::slice::from_raw_parts(runtime as *const u64, WORDS) };
    let [cookie, _, free_threaded, lists @ ..] = words else { return false };
    if *cookie != COOKIE || *free_threaded != 0 {
        return false;
    }
    let Some(found) = lists.windows(15).find(|window| window.starts_with(&[0, 8, 16])) else { return false };
    let [_, _, _, current_frame, _, _, _, _, _, previous, executable, instruction, locals, owner, _] = found else {
        return false;
    };
    let expected = [
        layout.thread_frame,
        layout.frame_previous,
        layout.frame_code,
        layout.frame_instruction,
        layout.frame_locals,
        layout.frame_owner.unwrap_or(0),
    ];
    [current_frame, previous, executable, instruction, locals, owner].map(|&offset| offset as usize) == expected
}

/// Functions of Python's C interface, found by name: the same library serves every version.
struct Functions {
    get_thread_state: Get,
    get_frame: Get,
    frame_code: GetOf,
    frame_line: LineOf,
    frame_back: GetOf,
    attribute: Attribute,
    utf8: TextOf,
    new_text: TextFrom,
    increase: Count,
    decrease: Count,
    clear_error: Clear,
    at_exit: AtExit,
    cell_type: usize,
}

impl Functions {
    fn find() -> Option<Self> {
        Some(Self {
            get_thread_state: function!(c"PyGILState_GetThisThreadState" as Get),
            get_frame: function!(c"PyEval_GetFrame" as Get),
            frame_code: function!(c"PyFrame_GetCode" as GetOf),
            frame_line: function!(c"PyFrame_GetLineNumber" as LineOf),
            frame_back: function!(c"PyFrame_GetBack" as GetOf),
            attribute: function!(c"PyObject_GetAttrString" as Attribute),
            utf8: function!(c"PyUnicode_AsUTF8" as TextOf),
            new_text: function!(c"PyUnicode_FromString" as TextFrom),
            increase: function!(c"Py_IncRef" as Count),
            decrease: function!(c"Py_DecRef" as Count),
            clear_error: function!(c"PyErr_Clear" as Clear),
            at_exit: function!(c"Py_AtExit" as AtExit),
            cell_type: elf::global_symbol(c"PyCell_Type")?,
        })
    }

    /// Walks no frame any more once there is no Python: its states of threads are gone then.
    fn tell_end(&self) -> bool {
        static IS_TOLD: AtomicBool = AtomicBool::new(false);
        extern "C" fn end() {
            CURRENT.store(std::ptr::null_mut(), Ordering::Release);
        }
        IS_TOLD.swap(true, Ordering::Relaxed) || (self.at_exit)(end) == 0
    }

    /// Where the kind stands in the state of strings, by the state of one that is known.
    fn text_kind_shift(&self) -> Option<u32> {
        // SAFETY: the GIL is held; every string has a state; the string is given back.
        let state = unsafe {
            let text = (self.new_text)(c"oomph".as_ptr());
            if text.is_null() {
                (self.clear_error)();
                return None;
            }
            let state = code::field::<u32>(text as usize, TEXT_STATE);
            (self.decrease)(text);
            state
        };
        TEXT_KIND_SHIFTS.into_iter().find(|shift| (state >> shift) & 0b11_111 == TEXT_ASCII_STATE)
    }

    /// Whether the walk finds what the interpreter says: files, functions and lines of this thread's frames.
    fn agree_with(&self, interpreter: &Interpreter) -> bool {
        let mut said = self.frames();
        let mut is_same = !said.is_empty();
        let mut rooms = ([0; 4096], [0; 4096]);
        interpreter.walk(interpreter.thread_state(), |frame| {
            // SAFETY: the frame was just found.
            let Some(at_byte) = (unsafe { interpreter.position(&frame) }) else { return true };
            let Some((file, function, line)) = said.pop_front() else { return false };
            // SAFETY: were the layout wrong, this is where it would show; it is that of the interpreter's version.
            let found = unsafe {
                let text = |offset, room| code::text(&interpreter.layout, code::field(frame.code, offset), room);
                let file_found = text(interpreter.layout.code_file, &mut rooms.0);
                let function_found = text(interpreter.layout.code_name, &mut rooms.1);
                (file_found, function_found, code::line(&interpreter.layout, frame.code, at_byte))
            };
            is_same &= found == (file.as_slice(), function.as_slice(), line);
            is_same
        });
        is_same && said.is_empty()
    }

    /// The frames of this thread as the interpreter says, innermost first.
    fn frames(&self) -> std::collections::VecDeque<(Vec<u8>, Vec<u8>, u32)> {
        let mut found = std::collections::VecDeque::new();
        // SAFETY: the GIL is held; each object is given back once it is not needed.
        unsafe {
            let mut frame = (self.get_frame)();
            if !frame.is_null() {
                (self.increase)(frame);
            }
            while !frame.is_null() {
                if found.len() < PROVED_FRAMES {
                    let code = (self.frame_code)(frame);
                    let line = (self.frame_line)(frame).max(0) as u32;
                    found.push_back((self.text(code, c"co_filename"), self.text(code, c"co_name"), line));
                    (self.decrease)(code);
                }
                let back = (self.frame_back)(frame);
                (self.decrease)(frame);
                frame = back;
            }
        }
        found
    }

    /// # Safety
    /// The GIL is held, and `object` is one.
    unsafe fn text(&self, object: Object, attribute: &CStr) -> Vec<u8> {
        // SAFETY: the caller's promise; the text is copied before its owner is given back.
        unsafe {
            let value = (self.attribute)(object, attribute.as_ptr());
            let utf8 = if value.is_null() { std::ptr::null() } else { (self.utf8)(value) };
            let text = if utf8.is_null() { Vec::new() } else { CStr::from_ptr(utf8).to_bytes().to_vec() };
            if utf8.is_null() {
                (self.clear_error)();
            }
            if !value.is_null() {
                (self.decrease)(value);
            }
            text
        }
    }
}
