//! What Python calls in every step, as built-in functions of its own: through `ctypes` each call would take ten times as
//! long.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use oomph_box::Phase;

use crate::elf;
use crate::recorder;

type Object = *mut c_void;
type Function = unsafe extern "C" fn(Object, *const Object, isize) -> Object;
type NumberOf = unsafe extern "C" fn(Object) -> u64;
type NumberFrom = unsafe extern "C" fn(u64) -> Object;
type Count = unsafe extern "C" fn(Object);
type Clear = extern "C" fn();
type Make = unsafe extern "C" fn(*const Method, Object, Object) -> Object;

/// `METH_FASTCALL`: arguments come as an array.
const FAST_CALL: c_int = 0x80;

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

static METHODS: [Method; 3] = [
    Method { name: c"state".as_ptr(), function: state, flags: FAST_CALL, doc: std::ptr::null() },
    Method { name: c"backward".as_ptr(), function: backward, flags: FAST_CALL, doc: std::ptr::null() },
    Method { name: c"cpu_tensor_bytes".as_ptr(), function: cpu_tensor_bytes, flags: FAST_CALL, doc: std::ptr::null() },
];

/// What is needed of Python.
struct Python {
    number_of: NumberOf,
    number_from: NumberFrom,
    increase: Count,
    clear_error: Clear,
    none: Object,
}

static PYTHON: AtomicPtr<Python> = AtomicPtr::new(std::ptr::null_mut());

impl Python {
    fn find() -> Option<Self> {
        // SAFETY: functions of Python's C interface, with the types that its documentation gives.
        unsafe {
            Some(Self {
                number_of: std::mem::transmute::<usize, NumberOf>(elf::global_symbol(c"PyLong_AsUnsignedLongLong")?),
                number_from: std::mem::transmute::<usize, NumberFrom>(elf::global_symbol(
                    c"PyLong_FromUnsignedLongLong",
                )?),
                increase: std::mem::transmute::<usize, Count>(elf::global_symbol(c"Py_IncRef")?),
                clear_error: std::mem::transmute::<usize, Clear>(elf::global_symbol(c"PyErr_Clear")?),
                none: elf::global_symbol(c"_Py_NoneStruct")? as Object,
            })
        }
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

    fn nothing(&self) -> Object {
        // SAFETY: the one object of its kind, which is always there; the GIL is held.
        unsafe { (self.increase)(self.none) };
        self.none
    }
}

/// A new reference to one of the functions, by number; null where Python does not offer what is needed. The GIL is held.
pub(crate) fn of_number(which: u32) -> Object {
    let found = METHODS.get(which as usize).zip(Python::find()).zip(elf::global_symbol(c"PyCFunction_NewEx"));
    let Some(((method, python), make)) = found else { return std::ptr::null_mut() };
    if PYTHON.load(Ordering::Acquire).is_null() {
        PYTHON.store(Box::leak(Box::new(python)), Ordering::Release);
    }
    // SAFETY: a function of Python's C interface; the description stays for ever.
    unsafe { std::mem::transmute::<usize, Make>(make)(method, std::ptr::null_mut(), std::ptr::null_mut()) }
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
    python.nothing()
}

/// `backward(begins)`: the calling thread's stack is the caller of autograd's threads.
unsafe extern "C" fn backward(_: Object, arguments: *const Object, count: isize) -> Object {
    let python = python();
    if let Some(recorder) = recorder::current() {
        // SAFETY: as Python calls it.
        recorder.backward(unsafe { python.number(arguments, count, 0) } != 0);
    }
    python.nothing()
}

/// `cpu_tensor_bytes()`: what live tensors in host memory take.
unsafe extern "C" fn cpu_tensor_bytes(_: Object, _: *const Object, _: isize) -> Object {
    let bytes = recorder::current().map_or(0, |recorder| recorder.box_writer().host_state().cpu_tensor_bytes);
    // SAFETY: as Python calls it; the GIL is held.
    unsafe { (python().number_from)(bytes) }
}
