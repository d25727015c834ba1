//! cuFFT: plans by number, and an estimate of the work area that PyTorch then allocates for them.
//!
//! A transform whose lengths fit a block's shared memory (8192 at most, prime factors up to 127) needs no work area: so it
//! was on an H200. Longer ones go through memory, and are taken to need one copy of the complex data; those with larger
//! prime factors go by Bluestein's way, taken to need a copy at the next power of two of twice the length. Neither has
//! been compared with a card; the vendor promises at most eight copies.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_longlong, c_void};
use std::slice;

use crate::estimate::{self, Estimate};
use crate::installed::Library;
use crate::lock::Guarded;
use crate::object::{Out, put};

const SUCCESS: c_int = 0;
const INVALID_PLAN: c_int = 1;
const INVALID_VALUE: c_int = 4;

/// The most dimensions of a transform.
const MOST_DIMENSIONS: usize = 3;

static PLANS: Guarded<Plans> = Guarded::new(Plans { made: 0, work_bytes: BTreeMap::new() });

struct Plans {
    made: c_int,
    /// Work areas, by plan.
    work_bytes: BTreeMap<c_int, u64>,
}

fn done(written: bool) -> c_int {
    if written { SUCCESS } else { INVALID_VALUE }
}

/// Bytes of a complex number, by `cudaDataType`.
fn complex_bytes(data_type: c_int) -> u64 {
    match data_type {
        // CUDA_R_64F, CUDA_C_64F
        1 | 5 => 16,
        // CUDA_R_16F, CUDA_C_16F, CUDA_R_16BF, CUDA_C_16BF
        2 | 6 | 14 | 15 => 4,
        _ => 8,
    }
}

/// The longest that one block transforms by itself.
const LONGEST_IN_A_BLOCK: u64 = 8192;
/// The largest prime factor that has a kernel.
const LARGEST_FACTOR: u64 = 127;

fn is_smooth(mut length: u64) -> bool {
    for factor in 2..=LARGEST_FACTOR {
        while length > 1 && length.is_multiple_of(factor) {
            length /= factor;
        }
    }
    length <= 1
}

fn work_bytes(lengths: &[u64], batch: u64, element_bytes: u64) -> u64 {
    let bytes = lengths.iter().fold(batch * element_bytes, |bytes, length| bytes.saturating_mul(*length));
    match lengths.iter().copied().filter(|length| !is_smooth(*length)).max() {
        None if lengths.iter().all(|length| *length <= LONGEST_IN_A_BLOCK) => 0,
        awkward => {
            estimate::note(Estimate::FourierTransform, (lengths, batch, element_bytes));
            awkward.map_or(bytes, |length| (bytes / length.max(1)).saturating_mul((2 * length).next_power_of_two()))
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cufftCreate(plan: Out<'_, c_int>) -> c_int {
    let number = {
        let mut plans = PLANS.lock();
        plans.made += 1;
        let number = plans.made;
        plans.work_bytes.insert(number, 0);
        number
    };
    done(put(plan, number))
}

#[unsafe(no_mangle)]
extern "C" fn cufftDestroy(plan: c_int) -> c_int {
    match PLANS.lock().work_bytes.remove(&plan) {
        Some(_) => SUCCESS,
        None => INVALID_PLAN,
    }
}

/// # Safety
///
/// `lengths` points to `rank` numbers.
#[unsafe(no_mangle)]
unsafe extern "C" fn cufftXtMakePlanMany(
    plan: c_int,
    rank: c_int,
    lengths: *const c_longlong,
    _input_embedding: *const c_longlong,
    _input_stride: c_longlong,
    _input_distance: c_longlong,
    _input_type: c_int,
    _output_embedding: *const c_longlong,
    _output_stride: c_longlong,
    _output_distance: c_longlong,
    _output_type: c_int,
    batch: c_longlong,
    size: Out<'_, usize>,
    execution_type: c_int,
) -> c_int {
    let rank = usize::try_from(rank).unwrap_or(0);
    if lengths.is_null() || rank == 0 || rank > MOST_DIMENSIONS {
        return INVALID_VALUE;
    }
    // SAFETY: the caller's array.
    let lengths: Vec<u64> =
        unsafe { slice::from_raw_parts(lengths, rank) }.iter().map(|length| length.unsigned_abs()).collect();
    let bytes = work_bytes(&lengths, batch.unsigned_abs(), complex_bytes(execution_type));
    match PLANS.lock().work_bytes.get_mut(&plan) {
        Some(known) => *known = bytes,
        None => return INVALID_PLAN,
    }
    done(put(size, bytes as usize))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cufftGetSize(plan: c_int, size: Out<'_, usize>) -> c_int {
    let bytes = PLANS.lock().work_bytes.get(&plan).copied();
    bytes.map_or(INVALID_PLAN, |bytes| done(put(size, bytes as usize)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cufftGetVersion(version: Out<'_, c_int>) -> c_int {
    let number = Library::loaded("libcufft.so").and_then(|library| library.number_by_pointer(c"cufftGetVersion"));
    done(put(version, number.unwrap_or(12_000)))
}

/// Work areas are given with `cufftSetWorkArea`; nothing is to be taken here.
#[unsafe(no_mangle)]
extern "C" fn cufftSetWorkArea(plan: c_int, _area: *mut c_void) -> c_int {
    if PLANS.lock().work_bytes.contains_key(&plan) { SUCCESS } else { INVALID_PLAN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_areas_grow_with_awkward_lengths() {
        assert_eq!(work_bytes(&[256, 256], 64, 8), 0);
        assert_eq!(work_bytes(&[210], 1, 8), 0);
        assert_eq!(work_bytes(&[1 << 14], 2, 8), 16 << 14);
        assert_eq!(work_bytes(&[1021], 1, 8), 8 * 2048);
    }
}
