//! What Python calls in every step, as built-in functions of its own: through `ctypes` each call would take ten times as
//! long.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicPtr, Ordering};

use oomph_box::Phase;

use crate::python::{Clear, Count, Object, function};
use crate::recorder;
use crate::steps;
use oomph_elf as elf;

type Fast = unsafe extern "C" fn(Object, *const Object, isize) -> Object;
type Plain = unsafe extern "C" fn(Object, Object) -> Object;
type Named = unsafe extern "C" fn(Object, Object, Object) -> Object;
type NumberOf = unsafe extern "C" fn(Object) -> u64;
type NumberFrom = unsafe extern "C" fn(u64) -> Object;
type Make = unsafe extern "C" fn(*const Method, Object, Object) -> Object;

/// `METH_VARARGS`: arguments come as a tuple.
const PLAIN: c_int = 1;
/// `METH_KEYWORDS`: and those that are named as a dictionary.
const NAMED: c_int = 2;
/// `METH_FASTCALL`: arguments come as an array.
const FAST: c_int = 0x80;

/// A function, as its flags say.
#[repr(C)]
union Function {
    fast: Fast,
    plain: Plain,
    named: Named,
}

/// A function as Python wants it described.
#[repr(C)]
struct Method {
    name: *const c_char,
    function: Function,
    flags: c_int,
    doc: *const c_char,
}

// SAFETY: names are constants, and nothing is ever changed.
unsafe impl Sync for Method {}

const fn fast(name: &'static CStr, function: Fast) -> Method {
    Method { name: name.as_ptr(), function: Function { fast: function }, flags: FAST, doc: std::ptr::null() }
}

const fn plain(name: &'static CStr, function: Plain) -> Method {
    Method { name: name.as_ptr(), function: Function { plain: function }, flags: PLAIN, doc: std::ptr::null() }
}

const fn named(name: &'static CStr, function: Named) -> Method {
    let function = Function { named: function };
    Method { name: name.as_ptr(), function, flags: PLAIN | NAMED, doc: std::ptr::null() }
}

static METHODS: [Method; 7] = [
    fast(c"state", state),
    fast(c"cpu_tensor_bytes", cpu_tensor_bytes),
    fast(c"phase", phase),
    fast(c"led_steps", led_steps),
    plain(c"before_step", steps::before_step),
    plain(c"after_step", steps::after_step),
    named(c"run_backward", steps::run_backward),
];

/// What is needed of Python.
struct Python {
    make: Make,
    number_of: NumberOf,
    number_from: NumberFrom,
    increase: Count,
    clear_error: Clear,
    none: Object,
}

static PYTHON: AtomicPtr<Python> = AtomicPtr::new(std::ptr::null_mut());

impl Python {
    fn find() -> Option<Self> {
        Some(Self {
            make: function!(c"PyCFunction_NewEx" as Make),
            number_of: function!(c"PyLong_AsUnsignedLongLong" as NumberOf),
            number_from: function!(c"PyLong_FromUnsignedLongLong" as NumberFrom),
            increase: function!(c"Py_IncRef" as Count),
            clear_error: function!(c"PyErr_Clear" as Clear),
            none: elf::global_symbol(c"_Py_NoneStruct")? as Object,
        })
    }

    /// An argument as a number; 0 for one that is missing or none.
    ///
    /// # Safety
    /// `arguments` has `count` objects, and the GIL is held.
    unsafe fn number(&self, arguments: *const Object, count: isize, index: usize) -> u64 {
        if index as isize >= count {
            return 0;
        }
        // SAFETY: the caller's promise.
        let number = unsafe { (self.number_of)(arguments.add(index).read()) };
        if number == u64::MAX {
            (self.clear_error)();
            return 0;
        }
        number
    }
}

/// `None`, as a new reference. The GIL is held, and one of the functions here was handed out before.
pub(crate) fn nothing() -> Object {
    let python = python();
    // SAFETY: the one object of its kind, which is always there; the GIL is held.
    unsafe { (python.increase)(python.none) };
    python.none
}

/// A new reference to one of the functions, by number; null where Python does not offer what is needed. The GIL is held.
pub(crate) fn of_number(which: u32) -> Object {
    let Some((method, python)) = METHODS.get(which as usize).zip(Python::find()) else { return std::ptr::null_mut() };
    let make = python.make;
    if PYTHON.load(Ordering::Acquire).is_null() {
        PYTHON.store(Box::leak(Box::new(python)), Ordering::Release);
    }
    // SAFETY: the GIL is held, and the description stays for ever.
    unsafe { make(method, std::ptr::null_mut(), std::ptr::null_mut()) }
}

fn python() -> &'static Python {
    // SAFETY: set before any of the functions was handed out, and never taken away.
    unsafe { &*PYTHON.load(Ordering::Acquire) }
}

/// `state(step, batches, phase)` says what the job is doing.
unsafe extern "C" fn state(_: Object, arguments: *const Object, count: isize) -> Object {
    let python = python();
    // SAFETY: as Python calls it.
    let [step, batches, phase] = [0, 1, 2].map(|index| unsafe { python.number(arguments, count, index) });
    if let Some((recorder, phase)) = recorder::current().zip(Phase::from_number(phase as u8)) {
        recorder.box_writer().state(step, batches, phase);
    }
    nothing()
}

/// `phase(number)` says which part of a step begins.
unsafe extern "C" fn phase(_: Object, arguments: *const Object, count: isize) -> Object {
    let python = python();
    // SAFETY: as Python calls it.
    let number = unsafe { python.number(arguments, count, 0) };
    if let Some((recorder, phase)) = recorder::current().zip(Phase::from_number(number as u8)) {
        recorder.box_writer().phase(phase);
    }
    nothing()
}

/// `led_steps()`: the steps that were counted without Python since this was last asked.
unsafe extern "C" fn led_steps(_: Object, _: *const Object, _: isize) -> Object {
    // SAFETY: as Python calls it; the GIL is held.
    unsafe { (python().number_from)(steps::take_led_steps()) }
}

/// `cpu_tensor_bytes()`: what live tensors in host memory take.
unsafe extern "C" fn cpu_tensor_bytes(_: Object, _: *const Object, _: isize) -> Object {
    let bytes = recorder::current().map_or(0, |recorder| recorder.box_writer().host_state().cpu_tensor_bytes);
    // SAFETY: as Python calls it; the GIL is held.
    unsafe { (python().number_from)(bytes) }
}
