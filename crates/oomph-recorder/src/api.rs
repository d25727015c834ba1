//! What the Python side calls, by `ctypes.PyDLL`. Every function is cheap, never raises, and before there is a box does
//! nothing. Those that can fail return 0 or a negative number.

use std::ffi::{OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use oomph_box::{Action, Category, EndedHow, NameNumber, Stage, Stats};

use crate::recorder::{self, Recorder};
use crate::text::{bytes_of, copy_to};
use crate::{attach, audit, callables, host, interpreter, steps};

const DONE: i32 = 0;
const FAILED: i32 = -1;
const NOT_YET: i32 = -2;

/// Makes the box of this process at `path`, smaller where there is no room for `bytes`.
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_recorder_open(path: *const c_char, bytes: u64, problem: *mut c_char, room: u64) -> i32 {
    // SAFETY: the caller passes a C string.
    let path = Path::new(OsStr::from_bytes(unsafe { bytes_of(path) }));
    match recorder::open(path, bytes) {
        Ok(()) => DONE,
        Err(error) => {
            // SAFETY: the caller passes a buffer and its size.
            unsafe { copy_to(&error.to_string(), problem, room) };
            FAILED
        }
    }
}

/// Attaches to PyTorch's allocator, after `torch.cuda.init()`. Where anything is not as expected nothing is changed, and
/// `problem` gets a sentence.
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_recorder_attach(problem: *mut c_char, room: u64) -> i32 {
    // SAFETY: the caller passes a buffer and its size.
    unsafe { report(attach::attach(), problem, room) }
}

/// # Safety
/// `problem` is null or has `room` bytes.
unsafe fn report(result: Result<(), &'static str>, problem: *mut c_char, room: u64) -> i32 {
    match result {
        Ok(()) => DONE,
        Err(sentence) => {
            // SAFETY: the caller's promise.
            unsafe { copy_to(sentence, problem, room) };
            FAILED
        }
    }
}

/// Says which interpreter this is: `sys.hexversion` in hexadecimal digits, the address of the code object of
/// `torch.nn.Module.__call__` (or 0), and the folder whose files are left out of stacks. Fails, and stacks stay empty,
/// where the frames of this interpreter are not as expected.
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_recorder_python(
    hex_version: *const c_char,
    module_call_code: u64,
    own_folder: *const c_char,
) -> i32 {
    // SAFETY: the caller passes C strings.
    let (version, folder) = unsafe { (bytes_of(hex_version), bytes_of(own_folder)) };
    let digits = version.strip_prefix(b"0x").unwrap_or(version);
    let version = std::str::from_utf8(digits).ok().and_then(|digits| u32::from_str_radix(digits, 16).ok());
    match version.map(|version| interpreter::set_up(version, module_call_code as usize, folder)) {
        Some(Ok(())) => DONE,
        _ => FAILED,
    }
}

/// Says what a device is: 16 bytes of UUID, its memory, and what the process may use of it (0: all).
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_recorder_device(ordinal: i32, uuid: *const u8, total_bytes: u64, limit_bytes: u64) {
    let Some((recorder, ordinal)) = recorder::current().zip(u8::try_from(ordinal).ok()) else { return };
    // SAFETY: the caller passes 16 bytes, or nothing.
    let uuid = unsafe { uuid.cast::<[u8; 16]>().as_ref() }.copied().unwrap_or_default();
    recorder.box_writer().device(ordinal, uuid, total_bytes, limit_bytes);
}

/// The number of a name, for marks.
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_recorder_name(name: *const c_char) -> u32 {
    // SAFETY: the caller passes a C string.
    recorder::current().map_or(0, |recorder| recorder.box_writer().name(unsafe { bytes_of(name) }).0)
}

/// The program came to a place that has a name; `stage` is 0 for its start, 1 for its end, 2 for a moment.
#[unsafe(no_mangle)]
extern "C" fn oomph_recorder_mark(name: u32, stage: u32) {
    if let Some((recorder, stage)) = recorder::current().zip(Stage::from_number(stage as u8)) {
        recorder.box_writer().mark(NameNumber(name), stage);
    }
}

/// A new reference to a built-in function of Python's, by its number in `callables.rs`. Null where this Python offers no
/// such thing.
#[unsafe(no_mangle)]
extern "C" fn oomph_recorder_function(which: u32) -> *mut c_void {
    callables::of_number(which)
}

/// Says what the functions that stand around backward passes and steps call: PyTorch's own function, and those of
/// Python's that are called where there is more to do than to count.
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_recorder_steps(engine: *mut c_void, before: *mut c_void, after: *mut c_void) -> i32 {
    // SAFETY: the caller passes objects, and holds the GIL.
    if unsafe { steps::set_up(engine, before, after) }.is_some() { DONE } else { FAILED }
}

/// The steps of the optimizer at this address are counted without Python until the times given, by the monotonic clock.
#[unsafe(no_mangle)]
extern "C" fn oomph_recorder_lead(optimizer: u64, before_at_ns: u64, after_at_ns: u64) {
    steps::lead(optimizer as usize, before_at_ns, after_at_ns);
}

/// Calls a function of Python's, for ever, with the name and the arguments of each file that is opened and each exception
/// that nobody caught.
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_recorder_listen(callback: *mut c_void) -> i32 {
    // SAFETY: the caller passes an object, and holds the GIL.
    if unsafe { audit::listen(callback) }.is_some() { DONE } else { FAILED }
}

/// Says what blocks are for: `count` addresses, each with the number of its module (`modules` may be null).
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_recorder_tags(category: u8, count: u64, addresses: *const u64, modules: *const u32) {
    let Some((recorder, category)) = recorder::current().zip(Category::from_number(category)) else { return };
    let Some(count) = usize::try_from(count).ok().filter(|_| !addresses.is_null()) else { return };
    for index in 0..count {
        // SAFETY: the caller passes so many of each, or no modules at all.
        let (address, module) =
            unsafe { (addresses.add(index).read(), if modules.is_null() { 0 } else { modules.add(index).read() }) };
        recorder.box_writer().tag(address, category, module);
    }
}

/// Hands over what `torch.cuda.memory_stats` says: allocated now and peak, reserved now and peak, retries, failures,
/// what the driver has free, page-locked host memory. Missing ones are 0.
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_recorder_stats(ordinal: i32, values: *const u64, count: u64) {
    let Some((recorder, ordinal)) = recorder::current().zip(u8::try_from(ordinal).ok()) else { return };
    if values.is_null() {
        return;
    }
    // SAFETY: the caller passes `count` numbers, of which no further one is read.
    let value = |index: usize| if (index as u64) < count { unsafe { values.add(index).read() } } else { 0 };
    recorder.box_writer().stats(ordinal, Stats::from_numbers(std::array::from_fn(value)));
}

/// Keeps a line of JSON.
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_recorder_fact(json: *const c_char, bytes: u64) {
    if let Some(recorder) = recorder::current() {
        // SAFETY: the caller passes so many bytes.
        recorder.box_writer().fact(unsafe { slice(json, bytes) });
    }
}

/// # Safety
/// `start` is null or has `bytes` bytes.
unsafe fn slice<'a>(start: *const c_char, bytes: u64) -> &'a [u8] {
    if start.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(start.cast::<u8>(), usize::try_from(bytes).unwrap_or(0)) }
}

/// Asks the supervisor; returns the number of the question, or 0.
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_recorder_question(json: *const c_char, bytes: u64) -> u64 {
    // SAFETY: the caller passes so many bytes.
    recorder::current().map_or(0, |recorder| recorder.box_writer().question(unsafe { slice(json, bytes) }))
}

/// The answer to a question: 0 once there is one, -2 while there is none.
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_recorder_answer(question: u64, text: *mut c_char, room: u64) -> i32 {
    let Some(recorder) = recorder::current() else { return FAILED };
    let Some(answer) = recorder.box_writer().answer(question) else { return NOT_YET };
    // SAFETY: the caller passes a buffer and its size.
    unsafe { copy_to(&answer, text, room) };
    DONE
}

/// Says how the process ends.
#[unsafe(no_mangle)]
extern "C" fn oomph_recorder_end(how: u32, exit_code: i32) {
    if let Some((recorder, how)) = recorder::current().zip(EndedHow::from_number(how as u8)) {
        recorder.box_writer().end(how, exit_code);
    }
}

/// Records blocks of CPU tensors (1) or stops to (0). Fails where this build of PyTorch takes them in another way.
#[unsafe(no_mangle)]
extern "C" fn oomph_recorder_host(on: i32) -> i32 {
    if host::set(on != 0).is_ok() { DONE } else { FAILED }
}

/// Numbers of the first device, for tests: what is allocated (0), its peak (1), what is reserved (2), its peak (3), and
/// from 16 on how often each action was seen; of the host: what CPU tensors hold (8) and its peak (9).
#[unsafe(no_mangle)]
extern "C" fn oomph_recorder_counter(which: u32) -> u64 {
    recorder::current().map_or(0, |recorder| counter(recorder, which))
}

fn counter(recorder: &Recorder, which: u32) -> u64 {
    let writer = recorder.box_writer();
    let device = writer.device_state(0).unwrap_or_default();
    match which {
        0 => device.requested_bytes,
        1 => device.requested_peak_bytes,
        2 => device.reserved_bytes,
        3 => device.reserved_peak_bytes,
        8 => writer.host_state().cpu_tensor_bytes,
        9 => writer.host_state().cpu_tensor_peak_bytes,
        _ => which
            .checked_sub(16)
            .filter(|&action| (action as usize) < Action::ALL.len())
            .and_then(|action| device.counts.get(action as usize).copied())
            .unwrap_or(0),
    }
}

/// Hears nothing (1) until it is asked to go on (0): for benchmarks, which compare both in one process.
#[unsafe(no_mangle)]
extern "C" fn oomph_recorder_pause(is_paused: i32) {
    recorder::pause(is_paused != 0);
}

/// The stack of the caller, as a number of the box: for tests of the walk.
#[unsafe(no_mangle)]
extern "C" fn oomph_recorder_stack() -> u32 {
    recorder::current().map_or(0, |recorder| recorder.current_stack().0)
}
