//! cuSPARSELt: matrices in which two of four neighbours are zero. Descriptors are memory of the caller's; what is asked
//! of them is how large a compressed matrix is and how much workspace a product wants (none).

use std::ffi::{c_int, c_void};

use crate::estimate::{self, Estimate};
use crate::object::{Out, put};

const SUCCESS: c_int = 0;
const INVALID_VALUE: c_int = 3;

/// What the caller's memory for a sparse matrix holds: its shape.
#[repr(C)]
pub(crate) struct Structured {
    rows: i64,
    columns: i64,
    element_bytes: i64,
}

/// A plan, or an algorithm's choice, points to the matrix it is for.
#[repr(C)]
pub(crate) struct Chosen {
    matrix: *const Structured,
}

fn done(written: bool) -> c_int {
    if written { SUCCESS } else { INVALID_VALUE }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseLtStructuredDescriptorInit(
    _handle: *mut c_void,
    descriptor: Out<'_, Structured>,
    rows: i64,
    columns: i64,
    _leading: i64,
    _alignment: u32,
    value_type: c_int,
    _order: c_int,
    _sparsity: c_int,
) -> c_int {
    let element_bytes = match value_type {
        0 => 4,
        3 | 8 | 28 | 29 => 1,
        _ => 2,
    };
    done(put(descriptor, Structured { rows, columns, element_bytes }))
}

/// Half of the values, and two bits to say where each came from.
///
/// # Safety
///
/// `matrix` was initialised by [`cusparseLtStructuredDescriptorInit`].
#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseLtSpMMACompressedSize2(
    _handle: *mut c_void,
    matrix: Option<&mut Structured>,
    size: Out<'_, usize>,
    buffer_size: Out<'_, usize>,
) -> c_int {
    let Some(matrix) = matrix else { return INVALID_VALUE };
    let values = (matrix.rows.saturating_mul(matrix.columns) / 2).unsigned_abs() as usize;
    let bytes = values.saturating_mul(matrix.element_bytes.unsigned_abs() as usize).saturating_add(values.div_ceil(4));
    estimate::note(Estimate::StructuredSparsity, (matrix.rows, matrix.columns, matrix.element_bytes));
    put(buffer_size, 0);
    done(put(size, bytes))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseLtMatmulGetWorkspace(
    _handle: *mut c_void,
    _plan: *const Chosen,
    size: Out<'_, usize>,
) -> c_int {
    done(put(size, 0))
}

/// One algorithm, number 0, which cannot be split.
#[unsafe(no_mangle)]
unsafe extern "C" fn cusparseLtMatmulAlgGetAttribute(
    _handle: *mut c_void,
    _choice: *const Chosen,
    attribute: c_int,
    value: Out<'_, c_int>,
    _size: usize,
) -> c_int {
    // CUSPARSELT_MATMUL_ALG_CONFIG_MAX_ID: how many algorithms there are.
    done(put(value, c_int::from(attribute == 1)))
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use super::*;

    #[test]
    fn a_compressed_matrix_has_half_the_values_and_where_they_came_from() {
        let mut matrix = Structured { rows: 128, columns: 64, element_bytes: 2 };
        let mut size = MaybeUninit::uninit();
        let none = std::ptr::null_mut();
        // SAFETY: a matrix that lives, and a place for the result.
        let status = unsafe { cusparseLtSpMMACompressedSize2(none, Some(&mut matrix), Some(&mut size), None) };
        assert_eq!(status, SUCCESS);
        // SAFETY: the call succeeded.
        assert_eq!(unsafe { size.assume_init() }, 8192 + 1024);
    }
}
