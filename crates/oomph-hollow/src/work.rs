//! How much arithmetic the products and convolutions of a program are: what its time on a real card depends on.

use std::ffi::c_int;

use crate::count::Counter;

/// `CUDA_R_16F`, `CUDA_R_16BF` and the types of 8 bits.
const HALF_TYPES: [c_int; 6] = [2, 14, 3, 8, 28, 29];
/// `CUBLAS_COMPUTE_32F_FAST_TF32`.
const FAST_TF32: c_int = 77;
/// `CUBLAS_TF32_TENSOR_OP_MATH`.
const TF32_MATH: c_int = 3;

/// The units of a card that do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Units {
    /// Those of single or double precision.
    Single,
    /// Tensor cores that round single precision to 19 bits.
    Tf32,
    /// Tensor cores for 16 bits and fewer.
    Half,
}

static SINGLE: Counter = Counter::new();
static TF32: Counter = Counter::new();
static HALF: Counter = Counter::new();

impl Units {
    /// Those that a product of a type uses.
    pub(crate) fn of_product(data_type: c_int, compute_type: c_int, math_mode: c_int) -> Self {
        if HALF_TYPES.contains(&data_type) {
            Self::Half
        } else if compute_type == FAST_TF32 || math_mode == TF32_MATH {
            Self::Tf32
        } else {
            Self::Single
        }
    }
}

/// Counts the products of `count` pairs of matrices: `rows` by `sum`, and `sum` by `columns`.
pub(crate) fn product(units: Units, rows: u64, columns: u64, sum: u64, count: u64) {
    let operations = rows.saturating_mul(columns).saturating_mul(sum).saturating_mul(count).saturating_mul(2);
    add(units, operations);
}

/// Counts additions and multiplications.
pub(crate) fn add(units: Units, operations: u64) {
    let counter = match units {
        Units::Single => &SINGLE,
        Units::Tf32 => &TF32,
        Units::Half => &HALF,
    };
    counter.add(operations);
}

/// What was counted so far, by units: single, TF32, half.
pub(crate) fn operations() -> [u64; 3] {
    [SINGLE.get(), TF32.get(), HALF.get()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_go_to_the_units_of_their_type() {
        assert_eq!(Units::of_product(0, 68, 0), Units::Single);
        assert_eq!(Units::of_product(0, FAST_TF32, 0), Units::Tf32);
        assert_eq!(Units::of_product(0, 68, TF32_MATH), Units::Tf32);
        assert_eq!(Units::of_product(14, 68, TF32_MATH), Units::Half);
        let before = HALF.get();
        product(Units::Half, 3, 4, 5, 7);
        assert_eq!(HALF.get() - before, 2 * 3 * 4 * 5 * 7);
    }
}
