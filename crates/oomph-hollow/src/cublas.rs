//! cuBLAS: handles with what was set on them. Products and solvers do nothing; products are counted.
//!
//! Every handle takes memory for itself. PyTorch gives each a workspace from its allocator besides
//! (`cublasSetWorkspace_v2`).
//!
//! Functions whose only effect is on device memory stand in `symbols/cublas.txt` with `~`. The others are here.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use crate::card::Card;
use crate::estimate::{self, Estimate};
use crate::installed::Library;
use crate::object::{Out, create, put};
use crate::work::{self, Product, Units};
use crate::{count, device, memory};

const SUCCESS: c_int = 0;
const NOT_INITIALIZED: c_int = 1;
const ALLOC_FAILED: c_int = 3;
const INVALID_VALUE: c_int = 7;

const POINTER_MODE_HOST: c_int = 0;

/// What `cublasCreate_v2` hands out.
pub(crate) struct Handle {
    /// Where the handle's own memory lies.
    own: u64,
    stream: *mut c_void,
    pointer_mode: c_int,
    atomics_mode: c_int,
    math_mode: c_int,
    sm_count_target: c_int,
}

fn done(written: bool) -> c_int {
    if written { SUCCESS } else { INVALID_VALUE }
}

/// Asks a handle for something.
fn ask<T>(handle: Option<&mut Handle>, out: Out<'_, T>, what: impl FnOnce(&Handle) -> T) -> c_int {
    handle.map_or(NOT_INITIALIZED, |handle| done(put(out, what(handle))))
}

/// Sets something on a handle.
fn set(handle: Option<&mut Handle>, what: impl FnOnce(&mut Handle)) -> c_int {
    handle.map_or(NOT_INITIALIZED, |handle| {
        what(handle);
        SUCCESS
    })
}

/// What a handle takes on the card: twice the workspace that cuBLAS's manual names for its architecture, which is what
/// an H200 showed.
fn own_bytes(card: &Card) -> u64 {
    let workspace_mib: u64 = match card.compute_capability.major {
        9..=11 => 32,
        12 => 12,
        _ => 4,
    };
    (2 * workspace_mib) << 20
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasCreate_v2(handle: Out<'_, *mut Handle>) -> c_int {
    let Ok(device) = device::enter() else { return NOT_INITIALIZED };
    let Ok(card) = device::card(device) else { return NOT_INITIALIZED };
    if !card.measured {
        estimate::note(Estimate::BlasHandle, &card.name);
    }
    let Ok(own) = memory::allocate(device, own_bytes(card)) else { return ALLOC_FAILED };
    done(create(
        handle,
        Handle {
            own,
            stream: ptr::null_mut(),
            pointer_mode: POINTER_MODE_HOST,
            atomics_mode: 0,
            math_mode: 0,
            sm_count_target: 0,
        },
    ))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasDestroy_v2(handle: Option<Box<Handle>>) -> c_int {
    handle.map_or(NOT_INITIALIZED, |handle| {
        // In a child after a fork the memory is the parent's.
        let _ = memory::free(handle.own);
        SUCCESS
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasGetVersion_v2(_handle: Option<&mut Handle>, version: Out<'_, c_int>) -> c_int {
    done(put(version, self::version()))
}

/// 130101 for 13.1.1, as cuBLAS counts.
fn version() -> c_int {
    static VERSION: OnceLock<c_int> = OnceLock::new();
    *VERSION.get_or_init(|| {
        let part = |which| Library::loaded("libcublas.so")?.property(c"cublasGetProperty", which);
        match (part(0), part(1), part(2)) {
            (Some(major), Some(minor), Some(patch)) => major * 10_000 + minor * 100 + patch,
            _ => 130_000,
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasGetProperty(which: c_int, value: Out<'_, c_int>) -> c_int {
    let version = version();
    match which {
        0 => done(put(value, version / 10_000)),
        1 => done(put(value, version / 100 % 100)),
        2 => done(put(value, version % 100)),
        _ => INVALID_VALUE,
    }
}

#[unsafe(no_mangle)]
extern "C" fn cublasGetCudartVersion() -> usize {
    (version() / 10_000 * 1000) as usize
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasSetStream_v2(handle: Option<&mut Handle>, stream: *mut c_void) -> c_int {
    set(handle, |handle| handle.stream = stream)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasGetStream_v2(handle: Option<&mut Handle>, stream: Out<'_, *mut c_void>) -> c_int {
    ask(handle, stream, |handle| handle.stream)
}

/// The workspace is the caller's, so nothing is to be counted.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasSetWorkspace_v2(
    handle: Option<&mut Handle>,
    _workspace: *mut c_void,
    _size: usize,
) -> c_int {
    set(handle, |_| ())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasSetPointerMode_v2(handle: Option<&mut Handle>, mode: c_int) -> c_int {
    set(handle, |handle| handle.pointer_mode = mode)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasGetPointerMode_v2(handle: Option<&mut Handle>, mode: Out<'_, c_int>) -> c_int {
    ask(handle, mode, |handle| handle.pointer_mode)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasSetAtomicsMode(handle: Option<&mut Handle>, mode: c_int) -> c_int {
    set(handle, |handle| handle.atomics_mode = mode)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasGetAtomicsMode(handle: Option<&mut Handle>, mode: Out<'_, c_int>) -> c_int {
    ask(handle, mode, |handle| handle.atomics_mode)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasSetMathMode(handle: Option<&mut Handle>, mode: c_int) -> c_int {
    set(handle, |handle| handle.math_mode = mode)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasGetMathMode(handle: Option<&mut Handle>, mode: Out<'_, c_int>) -> c_int {
    ask(handle, mode, |handle| handle.math_mode)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasSetSmCountTarget(handle: Option<&mut Handle>, count: c_int) -> c_int {
    set(handle, |handle| handle.sm_count_target = count)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasGetSmCountTarget(handle: Option<&mut Handle>, count: Out<'_, c_int>) -> c_int {
    ask(handle, count, |handle| handle.sm_count_target)
}

/// Names of the statuses, which go by number in both texts.
const STATUSES: &[(c_int, &CStr, &CStr)] = &[
    (0, c"CUBLAS_STATUS_SUCCESS", c"success"),
    (1, c"CUBLAS_STATUS_NOT_INITIALIZED", c"the library was not initialized"),
    (3, c"CUBLAS_STATUS_ALLOC_FAILED", c"the resource allocation failed"),
    (7, c"CUBLAS_STATUS_INVALID_VALUE", c"an unsupported value or parameter was passed to the function"),
    (8, c"CUBLAS_STATUS_ARCH_MISMATCH", c"the function requires an architectural feature absent from the device"),
    (11, c"CUBLAS_STATUS_MAPPING_ERROR", c"an access to GPU memory space failed"),
    (13, c"CUBLAS_STATUS_EXECUTION_FAILED", c"the function failed to launch on the GPU"),
    (14, c"CUBLAS_STATUS_INTERNAL_ERROR", c"an internal operation failed"),
    (15, c"CUBLAS_STATUS_NOT_SUPPORTED", c"the functionality requested is not supported"),
];

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasGetStatusName(status: c_int) -> *const c_char {
    let known = STATUSES.iter().find(|(number, ..)| *number == status);
    known.map_or(c"unknown status", |(_, name, _)| name).as_ptr()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasGetStatusString(status: c_int) -> *const c_char {
    let known = STATUSES.iter().find(|(number, ..)| *number == status);
    known.map_or(c"unknown status", |(_, _, text)| text).as_ptr()
}

/// A result that goes to the host when the handle's pointer mode says so: a value that a hollow run cannot know.
fn unknown_value<T: Copy>(handle: Option<&mut Handle>, result: Out<'_, T>, zero: T) -> c_int {
    match handle {
        None => NOT_INITIALIZED,
        Some(handle) if handle.pointer_mode != POINTER_MODE_HOST => SUCCESS,
        Some(_) => {
            count::read();
            done(put(result, zero))
        }
    }
}

/// Dot products: `NAME -> cublasSdot_v2` and so on in the list, by the width of the result.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasSdot_v2(
    handle: Option<&mut Handle>,
    _n: c_int,
    _x: *const c_void,
    _incx: c_int,
    _y: *const c_void,
    _incy: c_int,
    result: Out<'_, u32>,
) -> c_int {
    unknown_value(handle, result, 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasDdot_v2(
    handle: Option<&mut Handle>,
    _n: c_int,
    _x: *const c_void,
    _incx: c_int,
    _y: *const c_void,
    _incy: c_int,
    result: Out<'_, u64>,
) -> c_int {
    unknown_value(handle, result, 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasZdotu_v2(
    handle: Option<&mut Handle>,
    _n: c_int,
    _x: *const c_void,
    _incx: c_int,
    _y: *const c_void,
    _incy: c_int,
    result: Out<'_, [u64; 2]>,
) -> c_int {
    unknown_value(handle, result, [0; 2])
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasDotEx(
    handle: Option<&mut Handle>,
    _n: c_int,
    _x: *const c_void,
    _x_type: c_int,
    _incx: c_int,
    _y: *const c_void,
    _y_type: c_int,
    _incy: c_int,
    result: Out<'_, u16>,
    _result_type: c_int,
    _execution_type: c_int,
) -> c_int {
    unknown_value(handle, result, 0)
}

/// Norms and sums of absolute values, by the width of the result; the index of the largest has the width of a float.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasSnrm2_v2(
    handle: Option<&mut Handle>,
    _n: c_int,
    _x: *const c_void,
    _incx: c_int,
    result: Out<'_, u32>,
) -> c_int {
    unknown_value(handle, result, 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasDnrm2_v2(
    handle: Option<&mut Handle>,
    _n: c_int,
    _x: *const c_void,
    _incx: c_int,
    result: Out<'_, u64>,
) -> c_int {
    unknown_value(handle, result, 0)
}

/// Solvers of batches say on the host whether their parameters were good.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasSgeqrfBatched(
    handle: Option<&mut Handle>,
    _m: c_int,
    _n: c_int,
    _a: *const c_void,
    _lda: c_int,
    _tau: *const c_void,
    info: Out<'_, c_int>,
    _batch: c_int,
) -> c_int {
    ask(handle, info, |_| 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasSgetrsBatched(
    handle: Option<&mut Handle>,
    _transpose: c_int,
    _n: c_int,
    _nrhs: c_int,
    _a: *const c_void,
    _lda: c_int,
    _pivots: *const c_void,
    _b: *const c_void,
    _ldb: c_int,
    info: Out<'_, c_int>,
    _batch: c_int,
) -> c_int {
    ask(handle, info, |_| 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasSgelsBatched(
    handle: Option<&mut Handle>,
    _transpose: c_int,
    _m: c_int,
    _n: c_int,
    _nrhs: c_int,
    _a: *const c_void,
    _lda: c_int,
    _c: *const c_void,
    _ldc: c_int,
    info: Out<'_, c_int>,
    _device_info: *const c_void,
    _batch: c_int,
) -> c_int {
    ask(handle, info, |_| 0)
}

/// Products compute nothing. How much they would is counted: time on a real card depends on it.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasSgemm_v2(
    handle: Option<&mut Handle>,
    _a_operation: c_int,
    _b_operation: c_int,
    rows: c_int,
    columns: c_int,
    sum: c_int,
    _alpha: *const c_void,
    _a: *const c_void,
    a_leading: c_int,
    _b: *const c_void,
    b_leading: c_int,
    _beta: *const c_void,
    _c: *mut c_void,
    c_leading: c_int,
) -> c_int {
    let leading = [a_leading, b_leading, c_leading];
    one_product(handle, SINGLE, 0, [rows, columns, sum], leading, 1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasDgemm_v2(
    handle: Option<&mut Handle>,
    _a_operation: c_int,
    _b_operation: c_int,
    rows: c_int,
    columns: c_int,
    sum: c_int,
    _alpha: *const c_void,
    _a: *const c_void,
    a_leading: c_int,
    _b: *const c_void,
    b_leading: c_int,
    _beta: *const c_void,
    _c: *mut c_void,
    c_leading: c_int,
) -> c_int {
    let leading = [a_leading, b_leading, c_leading];
    one_product(handle, DOUBLE, 0, [rows, columns, sum], leading, 1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasHgemm(
    handle: Option<&mut Handle>,
    _a_operation: c_int,
    _b_operation: c_int,
    rows: c_int,
    columns: c_int,
    sum: c_int,
    _alpha: *const c_void,
    _a: *const c_void,
    a_leading: c_int,
    _b: *const c_void,
    b_leading: c_int,
    _beta: *const c_void,
    _c: *mut c_void,
    c_leading: c_int,
) -> c_int {
    let leading = [a_leading, b_leading, c_leading];
    one_product(handle, HALF, 0, [rows, columns, sum], leading, 1)
}

/// `CUDA_R_32F`, `CUDA_R_64F` and `CUDA_R_16F`.
const SINGLE: c_int = 0;
const DOUBLE: c_int = 1;
const HALF: c_int = 2;

/// `leading` has the elements from one column to the next in both factors and in the result.
fn one_product(
    handle: Option<&mut Handle>,
    data_type: c_int,
    compute_type: c_int,
    shape: [c_int; 3],
    leading: [c_int; 3],
    count: c_int,
) -> c_int {
    let Some(handle) = handle else { return NOT_INITIALIZED };
    let number = |size| u64::try_from(size).unwrap_or(0);
    let [rows, columns, sum] = shape.map(number);
    work::product(&Product {
        units: Units::of_product(data_type, compute_type, handle.math_mode),
        rows,
        columns,
        sum,
        count: number(count),
        row_bytes: leading.map(|elements| number(elements) * work::element_bytes(data_type)),
    });
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasGemmEx(
    handle: Option<&mut Handle>,
    _a_operation: c_int,
    _b_operation: c_int,
    rows: c_int,
    columns: c_int,
    sum: c_int,
    _alpha: *const c_void,
    _a: *const c_void,
    a_type: c_int,
    a_leading: c_int,
    _b: *const c_void,
    _b_type: c_int,
    b_leading: c_int,
    _beta: *const c_void,
    _c: *mut c_void,
    _c_type: c_int,
    c_leading: c_int,
    compute_type: c_int,
    _algorithm: c_int,
) -> c_int {
    let leading = [a_leading, b_leading, c_leading];
    one_product(handle, a_type, compute_type, [rows, columns, sum], leading, 1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasGemmStridedBatchedEx(
    handle: Option<&mut Handle>,
    _a_operation: c_int,
    _b_operation: c_int,
    rows: c_int,
    columns: c_int,
    sum: c_int,
    _alpha: *const c_void,
    _a: *const c_void,
    a_type: c_int,
    a_leading: c_int,
    _a_stride: i64,
    _b: *const c_void,
    _b_type: c_int,
    b_leading: c_int,
    _b_stride: i64,
    _beta: *const c_void,
    _c: *mut c_void,
    _c_type: c_int,
    c_leading: c_int,
    _c_stride: i64,
    count: c_int,
    compute_type: c_int,
    _algorithm: c_int,
) -> c_int {
    let leading = [a_leading, b_leading, c_leading];
    one_product(handle, a_type, compute_type, [rows, columns, sum], leading, count)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasSgemmStridedBatched(
    handle: Option<&mut Handle>,
    _a_operation: c_int,
    _b_operation: c_int,
    rows: c_int,
    columns: c_int,
    sum: c_int,
    _alpha: *const c_void,
    _a: *const c_void,
    a_leading: c_int,
    _a_stride: i64,
    _b: *const c_void,
    b_leading: c_int,
    _b_stride: i64,
    _beta: *const c_void,
    _c: *mut c_void,
    c_leading: c_int,
    _c_stride: i64,
    count: c_int,
) -> c_int {
    let leading = [a_leading, b_leading, c_leading];
    one_product(handle, SINGLE, 0, [rows, columns, sum], leading, count)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasDgemmStridedBatched(
    handle: Option<&mut Handle>,
    _a_operation: c_int,
    _b_operation: c_int,
    rows: c_int,
    columns: c_int,
    sum: c_int,
    _alpha: *const c_void,
    _a: *const c_void,
    a_leading: c_int,
    _a_stride: i64,
    _b: *const c_void,
    b_leading: c_int,
    _b_stride: i64,
    _beta: *const c_void,
    _c: *mut c_void,
    c_leading: c_int,
    _c_stride: i64,
    count: c_int,
) -> c_int {
    let leading = [a_leading, b_leading, c_leading];
    one_product(handle, DOUBLE, 0, [rows, columns, sum], leading, count)
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use super::*;

    fn read<T>(ask: impl FnOnce(Out<'_, T>) -> c_int) -> T {
        let mut value = MaybeUninit::uninit();
        assert_eq!(ask(Some(&mut value)), SUCCESS);
        // SAFETY: the call succeeded, so it wrote the value.
        unsafe { value.assume_init() }
    }

    #[test]
    fn a_handle_gives_back_what_was_set() {
        // SAFETY: `cublasCreate_v2` hands out the address of a box.
        let mut handle = unsafe { Box::from_raw(read(|out| cublasCreate_v2(out))) };
        let stream = ptr::without_provenance_mut(0x40);
        // SAFETY: a handle that lives, and places for results that do.
        unsafe {
            assert_eq!(cublasSetMathMode(Some(&mut handle), 3), SUCCESS);
            assert_eq!(read(|out| cublasGetMathMode(Some(&mut handle), out)), 3);
            assert_eq!(cublasSetStream_v2(Some(&mut handle), stream), SUCCESS);
            assert_eq!(read(|out| cublasGetStream_v2(Some(&mut handle), out)), stream);
            assert_eq!(cublasSetMathMode(None, 3), NOT_INITIALIZED);
        }
    }

    #[test]
    fn a_result_on_the_host_is_zero_and_counted() {
        // SAFETY: `cublasCreate_v2` hands out the address of a box.
        let mut handle = unsafe { Box::from_raw(read(|out| cublasCreate_v2(out))) };
        let before = count::READS.get();
        // SAFETY: a handle that lives; vectors on a device are never read.
        let dot = read(|out| unsafe { cublasSdot_v2(Some(&mut handle), 1, ptr::null(), 1, ptr::null(), 1, out) });
        assert_eq!(dot, 0);
        assert!(count::READS.get() > before);
    }
}
