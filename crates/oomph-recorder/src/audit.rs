//! Hears of files that are opened and of exceptions that nobody caught, through Python's audit events.
//!
//! A hook in Python would be called for every event, and `id()` is one: programs that call it thousands of times a second
//! would pay for that. This one passes on the few that are wanted.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::python::{Clear, Count, Object, TextFrom, function};

type Hook = unsafe extern "C" fn(*const c_char, Object, *mut c_void) -> c_int;
type AddHook = unsafe extern "C" fn(Hook, *mut c_void) -> c_int;
type Call = unsafe extern "C" fn(Object, ...) -> Object;
type IsInitialized = extern "C" fn() -> c_int;
type Interpreter = extern "C" fn() -> *mut c_void;
type Matches = unsafe extern "C" fn(Object) -> c_int;

/// Events that are passed on.
const WANTED: [&CStr; 2] = [c"open", c"sys.excepthook"];

/// What is needed of Python, and whom to call.
struct Listener {
    callback: Object,
    interpreter: *mut c_void,
    call: Call,
    text_from: TextFrom,
    decrease: Count,
    clear_error: Clear,
    error_matches: Matches,
    /// `Exception`: what else is raised, such as an interrupt, is not a fault.
    fault: Object,
    is_initialized: IsInitialized,
    current_interpreter: Interpreter,
}

static LISTENER: AtomicPtr<Listener> = AtomicPtr::new(std::ptr::null_mut());

/// Calls `callback` with the name and the arguments of each wanted event, for ever. The GIL is held.
///
/// # Safety
/// `callback` is an object of this interpreter.
pub(crate) unsafe fn listen(callback: Object) -> Option<()> {
    let current_interpreter = function!(c"PyInterpreterState_Get" as Interpreter);
    // SAFETY: Python's variable of that name holds the class, for as long as there is an interpreter.
    let fault = unsafe { (oomph_elf::global_symbol(c"PyExc_Exception")? as *const Object).read() };
    let listener = Listener {
        callback,
        interpreter: current_interpreter(),
        call: function!(c"PyObject_CallFunctionObjArgs" as Call),
        text_from: function!(c"PyUnicode_FromString" as TextFrom),
        decrease: function!(c"Py_DecRef" as Count),
        clear_error: function!(c"PyErr_Clear" as Clear),
        error_matches: function!(c"PyErr_ExceptionMatches" as Matches),
        fault,
        is_initialized: function!(c"Py_IsInitialized" as IsInitialized),
        current_interpreter,
    };
    let (increase, add) = (function!(c"Py_IncRef" as Count), function!(c"PySys_AddAuditHook" as AddHook));
    // SAFETY: the caller's promise; the reference is kept for ever, as is the hook.
    unsafe { increase(callback) };
    let is_first = LISTENER.swap(Box::leak(Box::new(listener)), Ordering::AcqRel).is_null();
    // SAFETY: the hook may be called from now on, and is ready.
    (!is_first || unsafe { add(hook, std::ptr::null_mut()) } == 0).then_some(())
}

/// Python holds the GIL and has put aside an exception that is being handled.
unsafe extern "C" fn hook(event: *const c_char, arguments: Object, _: *mut c_void) -> c_int {
    // SAFETY: Python passes a C string.
    let name = unsafe { CStr::from_ptr(event) };
    if WANTED.contains(&name) {
        // SAFETY: null, or left for ever by `listen`.
        if let Some(listener) = unsafe { LISTENER.load(Ordering::Acquire).as_ref() } {
            // SAFETY: as Python calls it.
            return unsafe { listener.pass_on(name, arguments) };
        }
    }
    0
}

impl Listener {
    /// Returns what a hook returns: other than 0 where an exception is to go on to whoever caused the event. Ctrl-C may
    /// come while the callback runs, and belongs to the script.
    ///
    /// # Safety
    /// The GIL is held, and `arguments` is a tuple.
    unsafe fn pass_on(&self, name: &CStr, arguments: Object) -> c_int {
        // Files are opened while Python ends, too, when there is nobody left to be told; and by other interpreters.
        if (self.is_initialized)() == 0 || (self.current_interpreter)() != self.interpreter {
            return 0;
        }
        // SAFETY: the caller's promise; each new reference is given back.
        unsafe {
            let text = (self.text_from)(name.as_ptr());
            let result = if text.is_null() {
                std::ptr::null_mut()
            } else {
                (self.call)(self.callback, text, arguments, std::ptr::null_mut::<c_void>())
            };
            let is_fault = result.is_null() && (self.error_matches)(self.fault) != 0;
            if is_fault {
                (self.clear_error)();
            }
            for object in [text, result].into_iter().filter(|object| !object.is_null()) {
                (self.decrease)(object);
            }
            if result.is_null() && !is_fault { -1 } else { 0 }
        }
    }
}
