//! The hooks of a training loop that PyTorch calls in every step, as functions that are not Python's.
//!
//! A dozen Python functions that run once a step are never in the processor's caches: together they take 1 % of a step of
//! 2 ms. Nearly always there is nothing to do but to count and to note the phase, and that is done here. Python is called
//! for the first steps, for an optimizer other than the one that leads, and when the time has come that it asked for.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize};

use oomph_box::Phase;

use crate::callables::nothing;
use crate::python::{Count, Object, function};
use crate::recorder;

type Call = unsafe extern "C" fn(Object, Object, Object) -> Object;
type Item = unsafe extern "C" fn(Object, isize) -> Object;

/// What Python does where these do not.
struct Hooks {
    /// PyTorch's own function that runs a backward pass.
    engine: Object,
    before_step: Object,
    after_step: Object,
    call: Call,
    item: Item,
}

static HOOKS: AtomicPtr<Hooks> = AtomicPtr::new(std::ptr::null_mut());

/// The optimizer whose steps are the job's steps, by its address; 0 where Python has to say.
static LEADER: AtomicUsize = AtomicUsize::new(0);
/// Its steps that Python does not know of yet.
static LED_STEPS: AtomicU64 = AtomicU64::new(0);
/// When Python is called before and after a step, by the monotonic clock.
static BEFORE_AT_NS: AtomicU64 = AtomicU64::new(0);
static AFTER_AT_NS: AtomicU64 = AtomicU64::new(0);
/// Python was called before this step, so it is called after it.
static IS_PYTHONS: AtomicBool = AtomicBool::new(false);
static IS_BACKWARD: AtomicBool = AtomicBool::new(false);

/// Says what Python does itself. The GIL is held.
///
/// # Safety
/// All three are objects of this interpreter.
pub(crate) unsafe fn set_up(engine: Object, before_step: Object, after_step: Object) -> Option<()> {
    let increase = function!(c"Py_IncRef" as Count);
    let hooks = Hooks {
        engine,
        before_step,
        after_step,
        call: function!(c"PyObject_Call" as Call),
        item: function!(c"PyTuple_GetItem" as Item),
    };
    for object in [engine, before_step, after_step] {
        // SAFETY: the caller's promise; they are kept for ever.
        unsafe { increase(object) };
    }
    HOOKS.store(Box::leak(Box::new(hooks)), Release);
    Some(())
}

/// From now on the steps of the optimizer at this address are counted here, until the times given; 0 is nobody.
pub(crate) fn lead(optimizer: usize, before_at_ns: u64, after_at_ns: u64) {
    BEFORE_AT_NS.store(before_at_ns, Relaxed);
    AFTER_AT_NS.store(after_at_ns, Relaxed);
    LEADER.store(optimizer, Relaxed);
}

/// The leader's steps since this was last asked.
pub(crate) fn take_led_steps() -> u64 {
    LED_STEPS.swap(0, Relaxed)
}

fn hooks() -> Option<&'static Hooks> {
    // SAFETY: null, or left for ever by `set_up`.
    unsafe { HOOKS.load(Acquire).as_ref() }
}

impl Hooks {
    /// Whether the first argument is the optimizer that leads, and it is not yet that time.
    ///
    /// # Safety
    /// `arguments` is a tuple, and the GIL is held.
    unsafe fn is_led(&self, arguments: Object, at_ns: &AtomicU64) -> bool {
        let leader = LEADER.load(Relaxed);
        // SAFETY: the caller's promise; PyTorch passes three arguments. The reference is borrowed.
        leader != 0 && unsafe { (self.item)(arguments, 0) } as usize == leader && monotonic_ns() < at_ns.load(Relaxed)
    }
}

fn monotonic_ns() -> u64 {
    recorder::clock_ns(libc::CLOCK_MONOTONIC)
}

/// `before_step(optimizer, args, kwargs)`.
pub(crate) unsafe extern "C" fn before_step(_: Object, arguments: Object) -> Object {
    let Some(hooks) = hooks() else { return std::ptr::null_mut() };
    // SAFETY: as Python calls it.
    let recorder = recorder::current().filter(|_| unsafe { hooks.is_led(arguments, &BEFORE_AT_NS) });
    IS_PYTHONS.store(recorder.is_none(), Relaxed);
    match recorder {
        Some(recorder) => {
            recorder.box_writer().phase(Phase::Optimizer);
            nothing()
        }
        // SAFETY: the arguments are passed on; the GIL is held.
        None => unsafe { (hooks.call)(hooks.before_step, arguments, std::ptr::null_mut()) },
    }
}

/// `after_step(optimizer, args, kwargs)`.
pub(crate) unsafe extern "C" fn after_step(_: Object, arguments: Object) -> Object {
    let Some(hooks) = hooks() else { return std::ptr::null_mut() };
    // SAFETY: as Python calls it.
    let is_led = || !IS_PYTHONS.load(Relaxed) && unsafe { hooks.is_led(arguments, &AFTER_AT_NS) };
    match recorder::current().filter(|_| is_led()) {
        Some(recorder) => {
            LED_STEPS.fetch_add(1, Relaxed);
            recorder.box_writer().next_step();
            nothing()
        }
        // SAFETY: the arguments are passed on; the GIL is held.
        None => unsafe { (hooks.call)(hooks.after_step, arguments, std::ptr::null_mut()) },
    }
}

/// `run_backward(*args, **kwargs)`: PyTorch's own function, and around it what the recorder wants to know.
pub(crate) unsafe extern "C" fn run_backward(_: Object, arguments: Object, named: Object) -> Object {
    let Some(hooks) = hooks() else { return std::ptr::null_mut() };
    // One within another, which a hook or a custom function starts, belongs to the outer one.
    let recorder = recorder::current().filter(|_| !IS_BACKWARD.swap(true, Relaxed));
    if let Some(recorder) = recorder {
        recorder.backward(true);
        recorder.box_writer().phase(Phase::Backward);
    }
    // SAFETY: the arguments are passed on; the GIL is held.
    let result = unsafe { (hooks.call)(hooks.engine, arguments, named) };
    if let Some(recorder) = recorder {
        IS_BACKWARD.store(false, Relaxed);
        recorder.box_writer().phase(Phase::Forward);
        recorder.backward(false);
    }
    result
}
