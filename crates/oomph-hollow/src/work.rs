//! How much arithmetic the products and convolutions of a program are: what its time on a real card depends on.
//!
//! Some programs time two ways and take the faster one. Inductor does before it pads the operands of a product, which can
//! cost as much memory as the operands themselves, so products that rows of an odd length make slow are counted too.

use std::ffi::c_int;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

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
/// Products that would be clearly faster with longer rows.
static SLOWED: Counter = Counter::new();
static CONVOLUTIONS: Counter = Counter::new();
static LAST_CONVOLUTION: AtomicU64 = AtomicU64::new(0);

/// Where rows have to begin for the loads of tensor cores: cuBLAS's manual asks for it of every matrix of a product.
const ROW_ALIGNMENT_BYTES: u64 = 16;
/// Additions for each element read or written, from which on arithmetic and not memory decides: half of what an A100's
/// speeds say, which is where inductor begins to ask there. It has no figures of most other cards, and always asks.
const COMPUTE_BOUND_INTENSITY: u64 = 100;
/// A product of fewer operations is over sooner than padding is launched: 10 microseconds of an H200's tensor cores.
const LONG_OPERATIONS: u64 = 10_000_000_000;
/// Elements of a result from which on padding pays in TF32, by what PyTorch learned of an A100 (`_PadMMA100.py`). By the same
/// figures it never pays in plain single precision, and in 16 bits it does wherever arithmetic decides.
const TF32_LARGE_ELEMENTS: u64 = 14_119_424;

/// The product of `count` pairs of matrices: `rows` by `sum`, and `sum` by `columns`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    pub(crate) units: Units,
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    pub(crate) sum: u64,
    pub(crate) count: u64,
    /// From one row to the next in both factors and in the result; 0 where it is not known.
    pub(crate) row_bytes: [u64; 3],
}

impl Product {
    fn operations(&self) -> u64 {
        self.terms().saturating_mul(self.count).saturating_mul(2)
    }

    fn terms(&self) -> u64 {
        self.rows.saturating_mul(self.columns).saturating_mul(self.sum)
    }

    /// Whether it would be clearly faster if its rows were padded.
    fn is_slowed(&self) -> bool {
        let result = self.rows.saturating_mul(self.columns);
        let elements = self.sum.saturating_mul(self.rows.saturating_add(self.columns)).saturating_add(result);
        let pays = match self.units {
            Units::Single => false,
            Units::Tf32 => result > TF32_LARGE_ELEMENTS,
            Units::Half => true,
        };
        pays && self.row_bytes.iter().any(|bytes| bytes % ROW_ALIGNMENT_BYTES != 0)
            && self.terms() > elements.saturating_mul(COMPUTE_BOUND_INTENSITY)
            && self.operations() >= LONG_OPERATIONS
    }
}

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

/// Counts a product.
pub(crate) fn product(product: &Product) {
    add(product.units, product.operations());
    if product.is_slowed() {
        SLOWED.add_one();
    }
}

/// How many products so far would have been clearly faster with longer rows.
pub(crate) fn slowed_products() -> u64 {
    SLOWED.get()
}

/// Bytes of an element of a type, of those that products have.
pub(crate) fn element_bytes(data_type: c_int) -> u64 {
    match data_type {
        2 | 14 => 2,
        1 => 8,
        0 => 4,
        _ => 1,
    }
}

/// Counts a convolution, `shapes` being the same number for the same one.
pub(crate) fn convolution(units: Units, operations: u64, shapes: u64) {
    add(units, operations);
    CONVOLUTIONS.add_one();
    LAST_CONVOLUTION.store(shapes, Relaxed);
}

/// How many convolutions there were so far, and which was the last.
pub(crate) fn convolutions() -> (u64, u64) {
    (CONVOLUTIONS.get(), LAST_CONVOLUTION.load(Relaxed))
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
        product(&Product { units: Units::Half, rows: 3, columns: 4, sum: 5, count: 7, row_bytes: [0; 3] });
        assert_eq!(HALF.get() - before, 2 * 3 * 4 * 5 * 7);
    }

    /// The last layer of GPT-2, whose vocabulary has 50,257 words.
    #[test]
    fn long_products_with_rows_of_an_odd_length_are_slow() {
        let words = |words: u64| Product {
            units: Units::Half,
            rows: words,
            columns: 16_384,
            sum: 768,
            count: 1,
            row_bytes: [768 * 2, 768 * 2, words * 2],
        };
        assert!(words(50_257).is_slowed());
        assert!(!words(50_304).is_slowed(), "rows begin where they should");
        assert!(!words(11).is_slowed(), "memory decides");
        assert!(!Product { columns: 256, rows: 257, ..words(50_257) }.is_slowed(), "over at once");
        assert!(!Product { units: Units::Single, ..words(50_257) }.is_slowed(), "no tensor cores");
        assert!(Product { units: Units::Tf32, ..words(50_257) }.is_slowed());
        assert!(!Product { units: Units::Tf32, columns: 256, ..words(50_257) }.is_slowed(), "a small result");
    }
}
