//! Workspaces for a cuDNN before 9.8, which cannot be asked without a card.
//!
//! Kernels for tensor cores want channels last. A convolution whose tensors are not gets copies that are: of the data,
//! of the result and, unless it is 1x1, of the filter. A 1x1 convolution with stride 1 is a product as it stands, but
//! for the gradient of its filter, which has one part for each image. Convolutions in groups take nothing.
//!
//! Of the 68 convolutions of a ResNet-50 in single precision this gives what an H200 with cuDNN 9.19 gave in 48, up to
//! 15 MiB less in 15, and more in 5, once by 113 MiB.
//!
//! Attention by such a cuDNN, which PyTorch takes only when told to, finds no engine and raises.

use super::problem::Convolution;
use crate::count;
use crate::estimate::{self, Estimate};

/// The workspace of a convolution; nothing is known about other graphs.
pub(super) fn workspace_bytes(problem: Option<&Convolution>) -> u64 {
    let Some(convolution) = problem else {
        count::unmodelled!("cuDNN graph: workspace taken as 0, since cuDNN before 9.8 cannot be asked");
        return 0;
    };
    estimate::note(Estimate::ConvolutionByModel, convolution);
    let Convolution { kind, data, filter, result } = convolution;
    if convolution.product().is_none() || data.is_channels_last() {
        return 0;
    }
    let is_product = filter.pixels() == 1 && data.pixels() == result.pixels();
    match (is_product, kind) {
        (true, 11) => data.size(0).unwrap_or(1) * filter.bytes(),
        (true, _) => 0,
        (false, _) => data.bytes() + result.bytes() + if filter.pixels() > 1 { filter.bytes() } else { 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::super::problem::Tensor;
    use super::*;

    fn tensor(dimensions: [i64; 4], channels_last: bool) -> Tensor {
        let [_, c, h, w] = dimensions;
        let strides = if channels_last { vec![c * h * w, 1, w * c, c] } else { vec![c * h * w, h * w, w, 1] };
        Tensor { data_type: 0, dimensions: dimensions.to_vec(), strides }
    }

    fn convolution(kind: i32, window: i64, channels_last: bool) -> Convolution {
        Convolution {
            kind,
            data: tensor([32, 128, 28, 28], channels_last),
            filter: tensor([128, 128, window, window], channels_last),
            result: tensor([32, 128, 28, 28], channels_last),
        }
    }

    #[test]
    fn copies_are_made_for_kernels_that_want_channels_last() {
        assert_eq!(workspace_bytes(Some(&convolution(10, 3, false))), 26_279_936);
        assert_eq!(workspace_bytes(Some(&convolution(10, 3, true))), 0);
        assert_eq!(workspace_bytes(Some(&convolution(12, 1, false))), 0);
        assert_eq!(workspace_bytes(Some(&convolution(11, 1, false))), 32 * 128 * 128 * 4);
    }
}
