//! The graph API, by which PyTorch runs convolutions and attention.
//!
//! Descriptors are the user's own cuDNN's ([`super::real`]): it says which engines there are and in which order PyTorch
//! would try them. Two things are done here. A handle, which only a card can give, becomes the description of the
//! card. And an execution plan is never finalized, since that would compile kernels: what it is asked for, its
//! workspace, is read from its engine configuration (the same number wherever both were compared), then corrected for
//! what cuDNN cannot know without a card ([`super::split_k`]).
//!
//! A cuDNN before 9.8 cannot be asked: [`super::model`] then stands in for it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_void};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ptr;
use std::slice;

use super::problem::{Convolution, Operation, Tensor};
use super::real::{self, Api};
use super::{BAD_PARAM, NOT_INITIALIZED, SUCCESS, model, split_k};
use crate::estimate::{self, Estimate};
use crate::lock::Guarded;
use crate::object::{Out, put};
use crate::work::{self, Units};
use crate::{count, cublaslt, device};

const CONVOLUTION: c_int = 1;
const ENGINE: c_int = 2;
const ENGINE_CONFIG: c_int = 3;
const HEURISTIC: c_int = 4;
const PLAN: c_int = 5;
const KNOB_CHOICE: c_int = 7;
const FORWARD: c_int = 10;
const BACKWARD_DATA: c_int = 12;
const GRAPH: c_int = 15;
const TENSOR: c_int = 17;

const TYPE_HANDLE: c_int = 0;
const TYPE_INT64: c_int = 3;
const TYPE_KNOB: c_int = 9;
const TYPE_DESCRIPTOR: c_int = 15;

const HEURISTIC_GRAPH: c_int = 201;
const HEURISTIC_RESULTS: c_int = 202;
const HEURISTIC_DEVICE: c_int = 204;
const CONFIG_ENGINE: c_int = 300;
const CONFIG_KNOBS: c_int = 302;
const CONFIG_WORKSPACE: c_int = 303;
const PLAN_CONFIG: c_int = 401;
const PLAN_WORKSPACE: c_int = 402;
const PLAN_JSON: c_int = 405;
const KNOB_KIND: c_int = 600;
const KNOB_VALUE: c_int = 601;
const GRAPH_OPERATIONS: c_int = 801;
const ENGINE_GRAPH: c_int = 1300;
const ENGINE_INDEX: c_int = 1301;
const ENGINE_DEVICE: c_int = 1307;

/// More knobs than any engine has.
const MOST_KNOBS: usize = 32;

/// What is remembered of a descriptor beside cuDNN's own.
#[derive(Clone, Debug, Default)]
enum Known {
    #[default]
    Nothing,
    Tensor(Tensor),
    Convolution,
    Operation(Operation),
    /// A graph, a list of engines, an engine or one with its knobs: for which single convolution, if for one.
    For(Option<Convolution>),
    /// An engine with its knobs, from a list for which cuBLASLt was asked: the least of what it said that was only a fit.
    Listed {
        problem: Option<Convolution>,
        fitted_bytes: Option<u64>,
    },
    /// A plan is no descriptor of cuDNN's at all.
    Plan {
        workspace_bytes: u64,
        /// Units and arithmetic of a convolution, and a number that is the same for the same shapes.
        work: Option<(Units, u64, u64)>,
    },
}

#[derive(Clone, Debug)]
struct Note {
    kind: c_int,
    known: Known,
}

/// By address, which is a number here.
static NOTES: Guarded<BTreeMap<usize, Note>> = Guarded::new(BTreeMap::new());

fn note(descriptor: *mut c_void) -> Option<Note> {
    NOTES.lock().get(&descriptor.addr()).cloned()
}

fn remember(descriptor: *mut c_void, known: Known) {
    if let Some(note) = NOTES.lock().get_mut(&descriptor.addr()) {
        note.known = known;
    }
}

/// The convolution that a descriptor belongs to.
fn problem(descriptor: *mut c_void) -> Option<Convolution> {
    match note(descriptor)?.known {
        Known::For(problem) | Known::Listed { problem, .. } => problem,
        Known::Operation(operation) => operation.convolution(),
        _ => None,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnBackendCreateDescriptor(kind: c_int, descriptor: Out<'_, *mut c_void>) -> c_int {
    let mut made = ptr::null_mut();
    match real::api() {
        Some(api) if kind != PLAN => {
            // SAFETY: cuDNN writes the address of a new descriptor.
            let status = unsafe { (api.create)(kind, &raw mut made) };
            if status != SUCCESS {
                return status;
            }
        }
        // The address is all that a descriptor of ours needs.
        _ => made = Box::into_raw(Box::new(0_u8)).cast(),
    }
    NOTES.lock().insert(made.addr(), Note { kind, known: Known::Nothing });
    if put(descriptor, made) { SUCCESS } else { BAD_PARAM }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnBackendDestroyDescriptor(descriptor: *mut c_void) -> c_int {
    let Some(note) = NOTES.lock().remove(&descriptor.addr()) else { return BAD_PARAM };
    match real::api() {
        // SAFETY: a descriptor of cuDNN's.
        Some(api) if note.kind != PLAN => unsafe { (api.destroy)(descriptor) },
        _ => {
            // SAFETY: made by `cudnnBackendCreateDescriptor`, and its note was still there.
            drop(unsafe { Box::from_raw(descriptor.cast::<u8>()) });
            SUCCESS
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn cudnnBackendInitialize(descriptor: *mut c_void) -> c_int {
    if descriptor.is_null() { BAD_PARAM } else { SUCCESS }
}

/// # Safety
///
/// `values` points to `count` values of the type that `value_type` names.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnBackendSetAttribute(
    descriptor: *mut c_void,
    name: c_int,
    value_type: c_int,
    count: i64,
    values: *const c_void,
) -> c_int {
    let Some(note) = note(descriptor) else { return BAD_PARAM };
    // Only a card can give a handle. The card's description is put in its place when the descriptor is finalized.
    if value_type == TYPE_HANDLE {
        return SUCCESS;
    }
    if note.kind == PLAN {
        // SAFETY: the caller's values: a plan has one engine configuration.
        return match (name, unsafe { first::<*mut c_void>(count, values) }) {
            (PLAN_CONFIG, Some(config)) => plan(descriptor, config),
            _ => SUCCESS,
        };
    }
    // SAFETY: the caller's values.
    unsafe { learn(descriptor, note, name, value_type, count, values) };
    match real::api() {
        // SAFETY: a descriptor of cuDNN's, and the caller's values.
        Some(api) => unsafe { (api.set)(descriptor, name, value_type, count, values) },
        None => SUCCESS,
    }
}

/// # Safety
///
/// `values` is null or points to `count` values of type `T`.
unsafe fn first<T: Copy>(count: i64, values: *const c_void) -> Option<T> {
    // SAFETY: not null and not empty, so there is one.
    (count >= 1 && !values.is_null()).then(|| unsafe { values.cast::<T>().read_unaligned() })
}

/// Remembers what a workspace depends on.
///
/// # Safety
///
/// `values` points to `count` values of the type that `value_type` names.
unsafe fn learn(
    descriptor: *mut c_void,
    note: Note,
    name: c_int,
    value_type: c_int,
    count: i64,
    values: *const c_void,
) {
    // SAFETY: the caller's value, if it is a descriptor.
    let referred = || if value_type == TYPE_DESCRIPTOR { unsafe { first::<*mut c_void>(count, values) } } else { None };
    let known = match (note.kind, note.known) {
        (TENSOR, known) => {
            let mut tensor = if let Known::Tensor(tensor) = known { tensor } else { Tensor::default() };
            // SAFETY: the caller's values.
            unsafe { tensor.learn(name, value_type, count, values) };
            Known::Tensor(tensor)
        }
        (CONVOLUTION, _) => Known::Convolution,
        (kind @ FORWARD..=BACKWARD_DATA, known) => {
            let mut operation = if let Known::Operation(operation) = known { operation } else { Operation::new(kind) };
            if let Some(Known::Tensor(tensor)) = referred().and_then(self::note).map(|note| note.known) {
                operation.learn(name, tensor);
            }
            Known::Operation(operation)
        }
        (GRAPH, _) if name == GRAPH_OPERATIONS => {
            Known::For(if count == 1 { referred().and_then(problem) } else { None })
        }
        (HEURISTIC, _) if name == HEURISTIC_GRAPH => Known::For(referred().and_then(problem)),
        (ENGINE, _) if name == ENGINE_GRAPH => Known::For(referred().and_then(problem)),
        (ENGINE_CONFIG, _) if name == CONFIG_ENGINE => Known::For(referred().and_then(problem)),
        (_, known) => known,
    };
    remember(descriptor, known);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnBackendFinalize(descriptor: *mut c_void) -> c_int {
    let Some(note) = note(descriptor) else { return BAD_PARAM };
    let Some(api) = real::api() else { return SUCCESS };
    let for_the_card = match note.kind {
        PLAN => return SUCCESS,
        HEURISTIC => Some(HEURISTIC_DEVICE),
        ENGINE => Some(ENGINE_DEVICE),
        _ => None,
    };
    if let Some(attribute) = for_the_card {
        let Some(card) = real::device(api, device::current()) else { return NOT_INITIALIZED };
        // SAFETY: both are descriptors of cuDNN's; the array holds one.
        let status = unsafe { (api.set)(descriptor, attribute, TYPE_DESCRIPTOR, 1, (&raw const card).cast()) };
        if status != SUCCESS {
            return status;
        }
    }
    // SAFETY: a descriptor of cuDNN's.
    unsafe { (api.finalize)(descriptor) }
}

/// # Safety
///
/// `values` is null or has room for `wanted` values of the type that `value_type` names.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnBackendGetAttribute(
    descriptor: *mut c_void,
    name: c_int,
    value_type: c_int,
    wanted: i64,
    count: *mut i64,
    values: *mut c_void,
) -> c_int {
    let Some(note) = note(descriptor) else { return BAD_PARAM };
    if let Known::Plan { workspace_bytes, .. } = note.known {
        if name == PLAN_JSON {
            // SAFETY: the caller's variables.
            return unsafe { describe_plan(wanted, count, values) };
        }
        let workspace = (name == PLAN_WORKSPACE).then_some(workspace_bytes as i64);
        // SAFETY: the caller's variables.
        return unsafe { answer(workspace, wanted, count, values) };
    }
    let (status, fitted) = cublaslt::noting_fits(|| match real::api() {
        // SAFETY: a descriptor of cuDNN's, and the caller's variables.
        Some(api) => unsafe { (api.get)(descriptor, name, value_type, wanted, count, values) },
        // SAFETY: the caller's variables.
        None => unsafe { get_of_model(note.kind, name, wanted, count, values) },
    });
    if status == SUCCESS && note.kind == HEURISTIC && name == HEURISTIC_RESULTS && !values.is_null() {
        let Known::For(problem) = note.known else { return status };
        let fitted_bytes = fitted.into_iter().min().map(|bytes| bytes as u64);
        // SAFETY: cuDNN filled the caller's descriptors, as many as were wanted and there.
        let found = unsafe { count.as_ref() }.map_or(0, |count| usize::try_from(wanted.min(*count)).unwrap_or(0));
        // SAFETY: as above.
        for config in unsafe { slice::from_raw_parts(values.cast::<*mut c_void>(), found) } {
            remember(*config, Known::Listed { problem: problem.clone(), fitted_bytes });
        }
    }
    status
}

/// Hands over one number or none.
///
/// # Safety
///
/// `values` is null or has room for `wanted` numbers.
unsafe fn answer(value: Option<i64>, wanted: i64, count: *mut i64, values: *mut c_void) -> c_int {
    // SAFETY: null or a variable of the caller's.
    if let Some(count) = unsafe { count.as_mut() } {
        *count = i64::from(value.is_some());
    }
    if let Some(value) = value
        && wanted >= 1
        && !values.is_null()
    {
        // SAFETY: room for one number.
        unsafe { values.cast::<i64>().write_unaligned(value) };
    }
    SUCCESS
}

/// A plan in words. From torch 2.15 on PyTorch looks there for the generation of cards that a kernel was made for, to
/// leave out some with known faults.
///
/// # Safety
///
/// `values` is null or has room for `wanted` characters.
unsafe fn describe_plan(wanted: i64, count: *mut i64, values: *mut c_void) -> c_int {
    let generation = device::current_card()
        .map_or(0, |card| 100 * card.compute_capability.major + 10 * card.compute_capability.minor);
    let text = format!(r#"{{"engine":{{"smVersion":{generation}}}}}"#);
    // SAFETY: null or a variable of the caller's.
    if let Some(count) = unsafe { count.as_mut() } {
        *count = text.len() as i64;
    }
    let length = text.len().min(usize::try_from(wanted).unwrap_or(0));
    if !values.is_null() {
        // SAFETY: room for `wanted` characters, which are not fewer.
        unsafe { values.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), length) };
    }
    SUCCESS
}

/// What the stand-in for a cuDNN that cannot be asked has: one engine, number 0, without knobs or notes.
///
/// # Safety
///
/// As for [`answer`]; the descriptors that are to be filled are the caller's own.
unsafe fn get_of_model(kind: c_int, name: c_int, wanted: i64, count: *mut i64, values: *mut c_void) -> c_int {
    let value = match (kind, name) {
        (HEURISTIC, HEURISTIC_RESULTS) | (ENGINE_CONFIG, CONFIG_ENGINE) => {
            // SAFETY: null or a variable of the caller's.
            if let Some(count) = unsafe { count.as_mut() } {
                *count = 1;
            }
            return SUCCESS;
        }
        (ENGINE, ENGINE_INDEX) => Some(0),
        _ => None,
    };
    // SAFETY: the caller's variables.
    unsafe { answer(value, wanted, count, values) }
}

/// What cuBLASLt may have added to the workspace of an engine by a fit.
fn fitted_bytes(config: *mut c_void) -> Option<u64> {
    match note(config)?.known {
        Known::Listed { fitted_bytes, .. } => fitted_bytes,
        _ => None,
    }
}

/// Sizes of workspaces that convolutions were planned with: where there is no room for one, PyTorch takes another engine.
static WORKSPACES: Guarded<BTreeSet<u64>> = Guarded::new(BTreeSet::new());

/// The sizes of workspaces that convolutions may have asked for so far.
pub(crate) fn workspaces() -> Vec<u64> {
    WORKSPACES.lock().iter().copied().collect()
}

/// Notes the workspace of a plan, once it is known for which engine it is.
fn plan(plan: *mut c_void, config: *mut c_void) -> c_int {
    let problem = problem(config);
    let workspace_bytes = match real::api() {
        Some(api) => match asked(api, config, problem.as_ref()) {
            Ok(bytes) => bytes,
            Err(status) => return status,
        },
        None => model::workspace_bytes(problem.as_ref()),
    };
    let work = problem.as_ref().map(|problem| {
        let (units, operations) = problem.work();
        let mut hasher = DefaultHasher::new();
        problem.hash(&mut hasher);
        (units, operations, hasher.finish())
    });
    if work.is_some() && workspace_bytes > 0 {
        WORKSPACES.lock().insert(workspace_bytes);
    }
    remember(plan, Known::Plan { workspace_bytes, work });
    SUCCESS
}

/// The workspace of an engine with its knobs, as cuDNN says and the card would have it.
fn asked(api: &Api, config: *mut c_void, problem: Option<&Convolution>) -> Result<u64, c_int> {
    let mut bytes = [0_i64];
    get(api, config, CONFIG_WORKSPACE, TYPE_INT64, &mut bytes)?;
    let bytes = u64::try_from(bytes[0]).unwrap_or(0);
    let (Some(problem), Some(card)) = (problem, device::current_card()) else { return Ok(bytes) };
    let workspace = split_k::on_card(bytes, problem.product(), &knobs(api, config), card);
    if !workspace.is_exact {
        estimate::note(Estimate::ConvolutionInParts, problem);
    } else if fitted_bytes(config).is_some_and(|fitted| fitted <= bytes) {
        estimate::note(Estimate::ConvolutionAsProduct, problem);
    }
    Ok(workspace.bytes)
}

/// Reads values of a descriptor of cuDNN's; says how many there were.
fn get<T>(api: &Api, descriptor: *mut c_void, name: c_int, kind: c_int, values: &mut [T]) -> Result<usize, c_int> {
    let mut count = 0_i64;
    let room = values.len() as i64;
    // SAFETY: `values` has that much room, and callers name attributes whose values are of type `T`.
    let status = unsafe { (api.get)(descriptor, name, kind, room, &raw mut count, values.as_mut_ptr().cast()) };
    if status == SUCCESS { Ok(usize::try_from(count.min(room)).unwrap_or(0)) } else { Err(status) }
}

fn knobs(api: &Api, config: *mut c_void) -> split_k::Knobs {
    let mut choices = [ptr::null_mut::<c_void>(); MOST_KNOBS];
    for choice in &mut choices {
        // SAFETY: cuDNN writes the address of a new descriptor.
        unsafe { (api.create)(KNOB_CHOICE, choice) };
    }
    let mut knobs = split_k::Knobs::new();
    if let Ok(found) = get(api, config, CONFIG_KNOBS, TYPE_DESCRIPTOR, &mut choices) {
        for choice in choices.iter().take(found) {
            let (mut kind, mut value) = ([0 as c_int], [0_i64]);
            if get(api, *choice, KNOB_KIND, TYPE_KNOB, &mut kind).is_ok()
                && get(api, *choice, KNOB_VALUE, TYPE_INT64, &mut value).is_ok()
            {
                knobs.insert(kind[0], value[0]);
            }
        }
    }
    for choice in choices {
        // SAFETY: made above.
        unsafe { (api.destroy)(choice) };
    }
    knobs
}

#[unsafe(no_mangle)]
extern "C" fn cudnnBackendExecute(_handle: *mut c_void, plan: *mut c_void, _pack: *mut c_void) -> c_int {
    count::LAUNCHES.add_one();
    if let Some(Known::Plan { work: Some((units, operations, shapes)), .. }) = note(plan).map(|note| note.known) {
        work::convolution(units, operations, shapes);
    }
    if plan.is_null() { BAD_PARAM } else { SUCCESS }
}
