//! The convolution that a graph of cuDNN's describes.

use std::ffi::{c_int, c_void};
use std::slice;

use super::split_k::{Product, STEP_BYTES};
use crate::work::Units;

const TENSOR_TYPE: c_int = 901;
const TENSOR_DIMENSIONS: c_int = 902;
const TENSOR_STRIDES: c_int = 903;
const TYPE_DATA_TYPE: c_int = 1;
const TYPE_INT64: c_int = 3;

/// `CUDNN_DATA_BFLOAT16`.
const BFLOAT16: c_int = 9;

/// Channels of a group up to which one kernel does all groups.
const MOST_CHANNELS_TOGETHER: u64 = 256;

/// A tensor's shape, and where its channels stand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Tensor {
    pub(super) data_type: c_int,
    pub(super) dimensions: Vec<i64>,
    pub(super) strides: Vec<i64>,
}

impl Tensor {
    /// # Safety
    ///
    /// `values` points to `count` values of the type that `value_type` names.
    pub(super) unsafe fn learn(&mut self, name: c_int, value_type: c_int, count: i64, values: *const c_void) {
        let Ok(count) = usize::try_from(count) else { return };
        if values.is_null() || count == 0 {
            return;
        }
        match (name, value_type) {
            (TENSOR_TYPE, TYPE_DATA_TYPE) => {
                // SAFETY: one value of an enumeration.
                self.data_type = unsafe { values.cast::<c_int>().read_unaligned() };
            }
            (TENSOR_DIMENSIONS, TYPE_INT64) => {
                // SAFETY: the caller's numbers.
                self.dimensions = unsafe { slice::from_raw_parts(values.cast::<i64>(), count) }.to_vec();
            }
            (TENSOR_STRIDES, TYPE_INT64) => {
                // SAFETY: the caller's numbers.
                self.strides = unsafe { slice::from_raw_parts(values.cast::<i64>(), count) }.to_vec();
            }
            _ => {}
        }
    }

    /// Bytes of an element, by `cudnnDataType_t`.
    pub(super) fn element_bytes(&self) -> u64 {
        match self.data_type {
            1 | 10 | 20 => 8,
            21 => 16,
            2 | 9 => 2,
            3 | 6 | 11..=18 => 1,
            _ => 4,
        }
    }

    pub(super) fn elements(&self) -> u64 {
        self.dimensions.iter().map(|size| size.unsigned_abs()).product()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.elements() * self.element_bytes()
    }

    /// Whether channels stand beside one another in memory.
    pub(super) fn is_channels_last(&self) -> bool {
        self.strides.get(1) == Some(&1) && self.dimensions.get(1).is_none_or(|channels| *channels != 1)
    }

    pub(super) fn size(&self, dimension: usize) -> Option<u64> {
        self.dimensions.get(dimension).map(|size| size.unsigned_abs())
    }

    /// Elements of a pixel's plane: everything but batch and channels.
    pub(super) fn pixels(&self) -> u64 {
        self.dimensions.iter().skip(2).map(|size| size.unsigned_abs()).product()
    }
}

/// An operation of a graph as far as it is a convolution: forward (10), gradient of the filter (11) or of the data (12).
#[derive(Clone, Debug)]
pub(super) struct Operation {
    kind: c_int,
    data: Option<Tensor>,
    filter: Option<Tensor>,
    result: Option<Tensor>,
}

/// A convolution by the shapes of its tensors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Convolution {
    pub(super) kind: c_int,
    pub(super) data: Tensor,
    pub(super) filter: Tensor,
    pub(super) result: Tensor,
}

impl Operation {
    pub(super) fn new(kind: c_int) -> Self {
        Self { kind, data: None, filter: None, result: None }
    }

    /// Takes a tensor by the name of its attribute, which differs from kind to kind.
    pub(super) fn learn(&mut self, name: c_int, tensor: Tensor) {
        let place = match (self.kind, name) {
            (10, 704) | (11, 716) | (12, 710) => &mut self.data,
            (10, 703) | (11, 715) | (12, 709) => &mut self.filter,
            (10, 705) | (11, 717) | (12, 711) => &mut self.result,
            _ => return,
        };
        *place = Some(tensor);
    }

    pub(super) fn convolution(self) -> Option<Convolution> {
        Some(Convolution { kind: self.kind, data: self.data?, filter: self.filter?, result: self.result? })
    }
}

impl Convolution {
    /// How much arithmetic it is, whichever of its tensors is computed, and on which units by default: PyTorch lets
    /// convolutions in single precision be rounded to TF32.
    pub(super) fn work(&self) -> (Units, u64) {
        let by_output = self.filter.elements().checked_div(self.filter.size(0).unwrap_or(0)).unwrap_or(0);
        let units = if self.data.element_bytes() < 4 { Units::Half } else { Units::Tf32 };
        (units, self.result.elements().saturating_mul(by_output).saturating_mul(2))
    }

    /// The product of matrices that a kernel computes for it. In groups it is one product a group: a kernel that does all
    /// of them pads a group's channels to a power of two, and where a group has too many for that each gets a kernel of its
    /// own.
    pub(super) fn product(&self) -> Option<Product> {
        let (batch, channels) = (self.data.size(0)?, self.data.size(1)?);
        let (out_channels, filter_channels) = (self.filter.size(0)?, self.filter.size(1)?);
        let groups = channels.checked_div(filter_channels)?;
        if filter_channels * groups != channels || groups == 0 || out_channels % groups != 0 {
            return None;
        }
        let is_together = groups > 1 && filter_channels.max(out_channels / groups) <= MOST_CHANNELS_TOGETHER;
        let padded = |count: u64| if is_together { count.next_power_of_two() } else { count };
        let (channels, out_channels) = (padded(filter_channels), padded(out_channels / groups));
        let window = self.filter.pixels();
        let (rows, columns, taps, sum) = match self.kind {
            10 => (batch * self.result.pixels(), out_channels, 1, channels * window),
            11 => (out_channels, channels, window, batch * self.result.pixels()),
            12 => (batch * self.data.pixels(), channels, 1, out_channels * window),
            _ => return None,
        };
        let element_bytes = self.data.element_bytes();
        let steps = sum.div_ceil(STEP_BYTES / element_bytes);
        let (together, apart) = if is_together { (groups, 1) } else { (1, groups) };
        let is_bfloat16 = self.data.data_type == BFLOAT16;
        Some(Product { rows, columns, taps, steps, element_bytes, is_bfloat16, together, apart })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(dimensions: &[i64]) -> Tensor {
        Tensor { data_type: 0, dimensions: dimensions.to_vec(), strides: Vec::new() }
    }

    #[test]
    fn a_convolution_is_a_product() {
        let mut forward = Operation::new(10);
        forward.learn(704, tensor(&[32, 64, 56, 56]));
        forward.learn(703, tensor(&[256, 64, 3, 3]));
        assert_eq!(forward.clone().convolution(), None);
        forward.learn(705, tensor(&[32, 256, 28, 28]));
        let product = forward.convolution().unwrap().product().unwrap();
        let whole = Product {
            together: 1,
            apart: 1,
            rows: 32 * 28 * 28,
            columns: 256,
            taps: 1,
            steps: 18,
            element_bytes: 4,
            is_bfloat16: false,
        };
        assert_eq!(product, whole);
    }

    #[test]
    fn a_convolution_in_groups_is_several() {
        let in_groups = |channels: i64| {
            let (data, filter) = (tensor(&[8, 2 * channels, 10, 10]), tensor(&[2 * channels, channels, 3, 3]));
            Convolution { kind: 10, result: tensor(&[8, 2 * channels, 8, 8]), data, filter }.product().unwrap()
        };
        let together = Product {
            together: 2,
            apart: 1,
            rows: 512,
            columns: 256,
            taps: 1,
            steps: 72,
            element_bytes: 4,
            is_bfloat16: false,
        };
        assert_eq!(in_groups(192), together);
        assert_eq!(in_groups(256), together, "padded alike");
        let apart = Product {
            together: 1,
            apart: 2,
            rows: 512,
            columns: 320,
            taps: 1,
            steps: 90,
            element_bytes: 4,
            is_bfloat16: false,
        };
        assert_eq!(in_groups(320), apart);
    }
}
