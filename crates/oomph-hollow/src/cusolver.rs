//! cuSOLVER: handles, and estimates of the work areas that PyTorch allocates before it factors a matrix.
//!
//! The vendor does not say how work areas are made up, so they are taken from the algorithms: a panel of 64 columns for
//! LU, QR, Cholesky and Bunch-Kaufman; that and copies of the matrix for singular values (one; two for Jacobi's way)
//! and for eigenvalues (two, three where there is no symmetry). None has been compared with a card. Work areas on the
//! host are zero.

use std::ffi::{c_int, c_longlong, c_void};
use std::ptr;

use crate::estimate::{self, Estimate};
use crate::object::{Out, create, put};

const SUCCESS: c_int = 0;
const NOT_INITIALIZED: c_int = 1;
const INVALID_VALUE: c_int = 3;

/// Columns that a blocked algorithm works on at a time.
const PANEL: u64 = 64;

/// What `cusolverDnCreate` hands out.
pub(crate) struct Handle {
    stream: *mut c_void,
}

/// Parameters of an algorithm, which change nothing here. Several names in the list.
pub(crate) struct Parameters;

fn done(written: bool) -> c_int {
    if written { SUCCESS } else { INVALID_VALUE }
}

/// Work areas of the older functions are counted in elements, by `int`.
fn elements(out: Out<'_, c_int>, elements: u64) -> c_int {
    estimate::note(Estimate::Factorization, elements);
    done(put(out, c_int::try_from(elements).unwrap_or(c_int::MAX)))
}

/// Those of the newer ones in bytes, on the device and on the host.
fn bytes(device: Out<'_, usize>, host: Out<'_, usize>, data_type: c_int, elements: u64) -> c_int {
    estimate::note(Estimate::Factorization, (data_type, elements));
    put(host, 0);
    done(put(device, elements.saturating_mul(element_bytes(data_type)) as usize))
}

/// Bytes of an element, by `cudaDataType`.
fn element_bytes(data_type: c_int) -> u64 {
    match data_type {
        0 => 4,
        5 => 16,
        _ => 8,
    }
}

fn size(size: c_int) -> u64 {
    u64::try_from(size).unwrap_or(0)
}

fn panel(m: u64, n: u64) -> u64 {
    PANEL.saturating_mul(m.max(n).max(1))
}

fn copies(number: u64, m: u64, n: u64) -> u64 {
    number.saturating_mul(m).saturating_mul(n).saturating_add(panel(m, n))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnCreate(handle: Out<'_, *mut Handle>) -> c_int {
    done(create(handle, Handle { stream: ptr::null_mut() }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnDestroy(handle: Option<Box<Handle>>) -> c_int {
    if handle.is_some() { SUCCESS } else { NOT_INITIALIZED }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnSetStream(handle: Option<&mut Handle>, stream: *mut c_void) -> c_int {
    let Some(handle) = handle else { return NOT_INITIALIZED };
    handle.stream = stream;
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnGetStream(handle: Option<&mut Handle>, stream: Out<'_, *mut c_void>) -> c_int {
    handle.map_or(NOT_INITIALIZED, |handle| done(put(stream, handle.stream)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnCreateParams(parameters: Out<'_, *mut Parameters>) -> c_int {
    done(create(parameters, Parameters))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnDestroyParams(parameters: Option<Box<Parameters>>) -> c_int {
    done(parameters.is_some())
}

/// LU, and QR by another name.
#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnSgetrf_bufferSize(
    _handle: *mut c_void,
    m: c_int,
    n: c_int,
    _a: *const c_void,
    _lda: c_int,
    work: Out<'_, c_int>,
) -> c_int {
    elements(work, panel(size(m), size(n)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnSpotrf_bufferSize(
    _handle: *mut c_void,
    _half: c_int,
    n: c_int,
    _a: *const c_void,
    _lda: c_int,
    work: Out<'_, c_int>,
) -> c_int {
    elements(work, panel(size(n), size(n)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnSsytrf_bufferSize(
    _handle: *mut c_void,
    n: c_int,
    _a: *const c_void,
    _lda: c_int,
    work: Out<'_, c_int>,
) -> c_int {
    elements(work, panel(size(n), size(n)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnSorgqr_bufferSize(
    _handle: *mut c_void,
    m: c_int,
    n: c_int,
    _k: c_int,
    _a: *const c_void,
    _lda: c_int,
    _tau: *const c_void,
    work: Out<'_, c_int>,
) -> c_int {
    elements(work, panel(size(m), size(n)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnSormqr_bufferSize(
    _handle: *mut c_void,
    _side: c_int,
    _transpose: c_int,
    m: c_int,
    n: c_int,
    _k: c_int,
    _a: *const c_void,
    _lda: c_int,
    _tau: *const c_void,
    _c: *const c_void,
    _ldc: c_int,
    work: Out<'_, c_int>,
) -> c_int {
    elements(work, panel(size(m), size(n)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnSgesvd_bufferSize(
    _handle: *mut c_void,
    m: c_int,
    n: c_int,
    work: Out<'_, c_int>,
) -> c_int {
    elements(work, copies(1, size(m), size(n)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnSgesvdj_bufferSize(
    _handle: *mut c_void,
    _job: c_int,
    _economic: c_int,
    m: c_int,
    n: c_int,
    _a: *const c_void,
    _lda: c_int,
    _s: *const c_void,
    _u: *const c_void,
    _ldu: c_int,
    _v: *const c_void,
    _ldv: c_int,
    work: Out<'_, c_int>,
    _parameters: *mut c_void,
) -> c_int {
    elements(work, copies(2, size(m), size(n)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnSgesvdjBatched_bufferSize(
    _handle: *mut c_void,
    _job: c_int,
    m: c_int,
    n: c_int,
    _a: *const c_void,
    _lda: c_int,
    _s: *const c_void,
    _u: *const c_void,
    _ldu: c_int,
    _v: *const c_void,
    _ldv: c_int,
    work: Out<'_, c_int>,
    _parameters: *mut c_void,
    batch: c_int,
) -> c_int {
    elements(work, size(batch).saturating_mul(copies(2, size(m), size(n))))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnSgesvdaStridedBatched_bufferSize(
    _handle: *mut c_void,
    _job: c_int,
    _rank: c_int,
    m: c_int,
    n: c_int,
    _a: *const c_void,
    _lda: c_int,
    _stride_a: c_longlong,
    _s: *const c_void,
    _stride_s: c_longlong,
    _u: *const c_void,
    _ldu: c_int,
    _stride_u: c_longlong,
    _v: *const c_void,
    _ldv: c_int,
    _stride_v: c_longlong,
    work: Out<'_, c_int>,
    batch: c_int,
) -> c_int {
    elements(work, size(batch).saturating_mul(copies(1, size(m), size(n))))
}

/// Eigenvalues, by Jacobi's way too.
#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnSsyevd_bufferSize(
    _handle: *mut c_void,
    _job: c_int,
    _half: c_int,
    n: c_int,
    _a: *const c_void,
    _lda: c_int,
    _w: *const c_void,
    work: Out<'_, c_int>,
) -> c_int {
    elements(work, copies(2, size(n), size(n)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnSsyevjBatched_bufferSize(
    _handle: *mut c_void,
    _job: c_int,
    _half: c_int,
    n: c_int,
    _a: *const c_void,
    _lda: c_int,
    _w: *const c_void,
    work: Out<'_, c_int>,
    _parameters: *mut c_void,
    batch: c_int,
) -> c_int {
    elements(work, size(batch).saturating_mul(copies(2, size(n), size(n))))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnXpotrf_bufferSize(
    _handle: *mut c_void,
    _parameters: *mut c_void,
    _half: c_int,
    n: u64,
    data_type: c_int,
    _a: *const c_void,
    _lda: i64,
    _compute: c_int,
    device: Out<'_, usize>,
    host: Out<'_, usize>,
) -> c_int {
    bytes(device, host, data_type, panel(n, n))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnXgetrf_bufferSize(
    _handle: *mut c_void,
    _parameters: *mut c_void,
    m: u64,
    n: u64,
    data_type: c_int,
    _a: *const c_void,
    _lda: i64,
    _compute: c_int,
    device: Out<'_, usize>,
    host: Out<'_, usize>,
) -> c_int {
    bytes(device, host, data_type, panel(m, n))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnXgeqrf_bufferSize(
    _handle: *mut c_void,
    _parameters: *mut c_void,
    m: u64,
    n: u64,
    data_type: c_int,
    _a: *const c_void,
    _lda: i64,
    _tau_type: c_int,
    _tau: *const c_void,
    _compute: c_int,
    device: Out<'_, usize>,
    host: Out<'_, usize>,
) -> c_int {
    bytes(device, host, data_type, panel(m, n))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnXsyevd_bufferSize(
    _handle: *mut c_void,
    _parameters: *mut c_void,
    _job: c_int,
    _half: c_int,
    n: u64,
    data_type: c_int,
    _a: *const c_void,
    _lda: i64,
    _w_type: c_int,
    _w: *const c_void,
    _compute: c_int,
    device: Out<'_, usize>,
    host: Out<'_, usize>,
) -> c_int {
    bytes(device, host, data_type, copies(2, n, n))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnXsyevBatched_bufferSize(
    _handle: *mut c_void,
    _parameters: *mut c_void,
    _job: c_int,
    _half: c_int,
    n: u64,
    data_type: c_int,
    _a: *const c_void,
    _lda: i64,
    _w_type: c_int,
    _w: *const c_void,
    _compute: c_int,
    device: Out<'_, usize>,
    host: Out<'_, usize>,
    batch: u64,
) -> c_int {
    bytes(device, host, data_type, batch.saturating_mul(copies(2, n, n)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnXgeev_bufferSize(
    _handle: *mut c_void,
    _parameters: *mut c_void,
    _left: c_int,
    _right: c_int,
    n: u64,
    data_type: c_int,
    _a: *const c_void,
    _lda: i64,
    _w_type: c_int,
    _w: *const c_void,
    _left_type: c_int,
    _left_vectors: *const c_void,
    _left_lda: i64,
    _right_type: c_int,
    _right_vectors: *const c_void,
    _right_lda: i64,
    _compute: c_int,
    device: Out<'_, usize>,
    host: Out<'_, usize>,
) -> c_int {
    bytes(device, host, data_type, copies(3, n, n))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cusolverDnXsytrs_bufferSize(
    _handle: *mut c_void,
    _half: c_int,
    n: u64,
    columns: u64,
    data_type: c_int,
    _a: *const c_void,
    _lda: i64,
    _pivots: *const c_void,
    _b_type: c_int,
    _b: *const c_void,
    _ldb: i64,
    device: Out<'_, usize>,
    host: Out<'_, usize>,
) -> c_int {
    bytes(device, host, data_type, n.saturating_mul(columns))
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use super::*;

    #[test]
    fn work_areas_are_counted_in_elements_or_in_bytes() {
        let none = ptr::null_mut();
        let mut work = MaybeUninit::uninit();
        // SAFETY: a place for the result.
        let status = unsafe { cusolverDnSgetrf_bufferSize(none, 100, 50, none, 100, Some(&mut work)) };
        assert_eq!(status, SUCCESS);
        // SAFETY: the call succeeded.
        assert_eq!(unsafe { work.assume_init() }, 6400);
        let (mut device, mut host) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        let (double, n) = (1, 100);
        let places = (Some(&mut device), Some(&mut host));
        // SAFETY: places for the results.
        let status =
            unsafe { cusolverDnXpotrf_bufferSize(none, none, 0, n, double, none, 100, double, places.0, places.1) };
        assert_eq!(status, SUCCESS);
        // SAFETY: the call succeeded.
        assert_eq!(unsafe { (device.assume_init(), host.assume_init()) }, (51_200, 0));
    }
}
