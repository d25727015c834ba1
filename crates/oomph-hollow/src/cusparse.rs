//! cuSPARSE: matrices that know their shape, and estimates of the buffers that PyTorch allocates for products.
//!
//! A product with a sparse matrix is taken to need one number for each row and each entry (how work is dealt out to
//! blocks), sorting entries one copy of the indices; neither has been compared with a card. A product of two sparse
//! matrices has as many entries as the values say, which a hollow run does not know: none are assumed.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use crate::count;
use crate::estimate::{self, Estimate};
use crate::object::{Out, create, put};

const SUCCESS: c_int = 0;
const NOT_INITIALIZED: c_int = 1;
const INVALID_VALUE: c_int = 3;

/// What `cusparseCreate` hands out.
pub(crate) struct Handle {
    stream: *mut c_void,
}

/// A descriptor that says how a matrix is stored, which changes nothing here. Several names in the list.
pub(crate) struct Opaque;

/// A matrix or a vector, sparse or dense.
#[derive(Default)]
pub(crate) struct Matrix {
    rows: i64,
    columns: i64,
    entries: i64,
}

fn done(written: bool) -> c_int {
    if written { SUCCESS } else { INVALID_VALUE }
}

/// The buffer of a product with a sparse matrix.
fn buffer_bytes(matrix: Option<&mut Matrix>) -> usize {
    let Some(matrix) = matrix else { return 0 };
    estimate::note(Estimate::SparseBuffer, (matrix.rows, matrix.entries));
    let numbers = matrix.rows.unsigned_abs().saturating_add(1).saturating_add(matrix.entries.unsigned_abs());
    numbers.saturating_mul(4) as usize
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseCreate(handle: Out<'_, *mut Handle>) -> c_int {
    done(create(handle, Handle { stream: ptr::null_mut() }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseDestroy(handle: Option<Box<Handle>>) -> c_int {
    if handle.is_some() { SUCCESS } else { NOT_INITIALIZED }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseSetStream(handle: Option<&mut Handle>, stream: *mut c_void) -> c_int {
    let Some(handle) = handle else { return NOT_INITIALIZED };
    handle.stream = stream;
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseGetStream(handle: Option<&mut Handle>, stream: Out<'_, *mut c_void>) -> c_int {
    handle.map_or(NOT_INITIALIZED, |handle| done(put(stream, handle.stream)))
}

#[unsafe(no_mangle)]
extern "C" fn cusparseGetErrorString(status: c_int) -> *const c_char {
    let text: &CStr = match status {
        SUCCESS => c"success",
        NOT_INITIALIZED => c"initialization error",
        INVALID_VALUE => c"invalid value",
        _ => c"unknown error",
    };
    text.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseCreateMatDescr(descriptor: Out<'_, *mut Opaque>) -> c_int {
    done(create(descriptor, Opaque))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseDestroyMatDescr(descriptor: Option<Box<Opaque>>) -> c_int {
    done(descriptor.is_some())
}

/// In compressed rows; columns by another name.
#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseCreateCsr(
    matrix: Out<'_, *mut Matrix>,
    rows: i64,
    columns: i64,
    entries: i64,
    _offsets: *mut c_void,
    _indices: *mut c_void,
    _values: *mut c_void,
    _offset_type: c_int,
    _index_type: c_int,
    _base: c_int,
    _value_type: c_int,
) -> c_int {
    done(create(matrix, Matrix { rows, columns, entries }))
}

/// By coordinates.
#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseCreateCoo(
    matrix: Out<'_, *mut Matrix>,
    rows: i64,
    columns: i64,
    entries: i64,
    _row_indices: *mut c_void,
    _column_indices: *mut c_void,
    _values: *mut c_void,
    _index_type: c_int,
    _base: c_int,
    _value_type: c_int,
) -> c_int {
    done(create(matrix, Matrix { rows, columns, entries }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseCreateDnMat(
    matrix: Out<'_, *mut Matrix>,
    rows: i64,
    columns: i64,
    _leading: i64,
    _values: *mut c_void,
    _value_type: c_int,
    _order: c_int,
) -> c_int {
    done(create(matrix, Matrix { rows, columns, entries: rows.saturating_mul(columns) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseCreateDnVec(
    vector: Out<'_, *mut Matrix>,
    size: i64,
    _values: *mut c_void,
    _value_type: c_int,
) -> c_int {
    done(create(vector, Matrix { rows: size, columns: 1, entries: size }))
}

/// Matrices and vectors are given back alike, by several names in the list.
#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseDestroySpMat(matrix: Option<Box<Matrix>>) -> c_int {
    done(matrix.is_some())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseSpMatGetSize(
    matrix: Option<&mut Matrix>,
    rows: Out<'_, i64>,
    columns: Out<'_, i64>,
    entries: Out<'_, i64>,
) -> c_int {
    let Some(matrix) = matrix else { return INVALID_VALUE };
    done(put(rows, matrix.rows) && put(columns, matrix.columns) && put(entries, matrix.entries))
}

/// A sparse matrix by a dense one.
#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseSpMM_bufferSize(
    _handle: *mut c_void,
    _operation_a: c_int,
    _operation_b: c_int,
    _alpha: *const c_void,
    a: Option<&mut Matrix>,
    _b: *mut c_void,
    _beta: *const c_void,
    _c: *mut c_void,
    _compute: c_int,
    _algorithm: c_int,
    size: Out<'_, usize>,
) -> c_int {
    done(put(size, buffer_bytes(a)))
}

/// Two dense matrices where a sparse one has entries.
#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseSDDMM_bufferSize(
    _handle: *mut c_void,
    _operation_a: c_int,
    _operation_b: c_int,
    _alpha: *const c_void,
    _a: *mut c_void,
    _b: *mut c_void,
    _beta: *const c_void,
    c: Option<&mut Matrix>,
    _compute: c_int,
    _algorithm: c_int,
    size: Out<'_, usize>,
) -> c_int {
    done(put(size, buffer_bytes(c)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseSpMV_bufferSize(
    _handle: *mut c_void,
    _operation: c_int,
    _alpha: *const c_void,
    a: Option<&mut Matrix>,
    _x: *mut c_void,
    _beta: *const c_void,
    _y: *mut c_void,
    _compute: c_int,
    _algorithm: c_int,
    size: Out<'_, usize>,
) -> c_int {
    done(put(size, buffer_bytes(a)))
}

/// Triangular systems with several right hand sides.
#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseSpSM_bufferSize(
    _handle: *mut c_void,
    _operation_a: c_int,
    _operation_b: c_int,
    _alpha: *const c_void,
    a: Option<&mut Matrix>,
    _b: *mut c_void,
    _c: *mut c_void,
    _compute: c_int,
    _algorithm: c_int,
    _descriptor: *mut c_void,
    size: Out<'_, usize>,
) -> c_int {
    done(put(size, buffer_bytes(a)))
}

/// With one.
#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseSpSV_bufferSize(
    _handle: *mut c_void,
    _operation: c_int,
    _alpha: *const c_void,
    a: Option<&mut Matrix>,
    _x: *mut c_void,
    _y: *mut c_void,
    _compute: c_int,
    _algorithm: c_int,
    _descriptor: *mut c_void,
    size: Out<'_, usize>,
) -> c_int {
    done(put(size, buffer_bytes(a)))
}

/// Two sparse matrices; `cusparseSpGEMM_compute` is another name for this in the list.
#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseSpGEMM_workEstimation(
    _handle: *mut c_void,
    _operation_a: c_int,
    _operation_b: c_int,
    _alpha: *const c_void,
    a: Option<&mut Matrix>,
    _b: *mut c_void,
    _beta: *const c_void,
    _c: *mut c_void,
    _compute: c_int,
    _algorithm: c_int,
    _descriptor: *mut c_void,
    size: Out<'_, usize>,
    _buffer: *mut c_void,
) -> c_int {
    count::read();
    if let Some(a) = &a {
        estimate::note(Estimate::SparseProduct, (a.rows, a.columns, a.entries));
    }
    done(put(size, buffer_bytes(a)))
}

/// Sorting by rows or columns.
#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseXcsrsort_bufferSizeExt(
    _handle: *mut c_void,
    _rows: c_int,
    _columns: c_int,
    entries: c_int,
    _row_indices: *const c_int,
    _column_indices: *const c_int,
    size: Out<'_, usize>,
) -> c_int {
    estimate::note(Estimate::SparseBuffer, entries);
    done(put(size, 4 * entries.unsigned_abs() as usize))
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use super::*;

    #[test]
    fn a_matrix_gives_back_its_shape() {
        let mut matrix = Matrix { rows: 3, columns: 4, entries: 5 };
        let mut out = [MaybeUninit::uninit(); 3];
        let [rows, columns, entries] = &mut out;
        // SAFETY: a matrix that lives, and places for the results.
        let status = unsafe { cusparseSpMatGetSize(Some(&mut matrix), Some(rows), Some(columns), Some(entries)) };
        assert_eq!(status, SUCCESS);
        // SAFETY: the call succeeded.
        assert_eq!(out.map(|number| unsafe { number.assume_init() }), [3, 4, 5]);
        assert_eq!(buffer_bytes(Some(&mut matrix)), 36);
    }
}
