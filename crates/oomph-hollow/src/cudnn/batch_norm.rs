//! Batch normalization: workspace and what the forward pass keeps for the backward pass.
//!
//! cuDNN 9.19 on an H200 wants a workspace only from its persistent kernels, which take channels last: by the width of an
//! element and whether there are more than 64 channels about 0.2 to 0.8 MB, whatever the size of the images. Nothing is
//! ever kept. Sizes here are those of four measured shapes, and within 3 % of all of them.

use std::ffi::{c_int, c_void};

use super::descriptor::Shape;
use super::done;
use crate::estimate::{self, Estimate};
use crate::object::{Out, put};

/// `CUDNN_BATCHNORM_SPATIAL_PERSISTENT`.
const PERSISTENT: c_int = 2;

/// The workspace: with few channels or with many, where the kernels for channels last run.
fn workspace_bytes(mode: c_int, x: Option<&mut Shape>, few: usize, many: usize) -> usize {
    match x {
        Some(x) if mode == PERSISTENT && x.is_channels_last() => {
            let bytes = if x.channels() <= 64 { few } else { many };
            estimate::note(Estimate::BatchNormalization, (&x.dimensions, bytes));
            bytes
        }
        _ => 0,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    _handle: *mut c_void,
    mode: c_int,
    _operations: c_int,
    x: Option<&mut Shape>,
    _z: *const c_void,
    _y: *const c_void,
    _parameters: *const c_void,
    _activation: *const c_void,
    size: Out<'_, usize>,
) -> c_int {
    let is_single = x.as_ref().is_some_and(|x| x.data_type == 0);
    let (few, many) = if is_single { (810_164, 405_632) } else { (325_124, 164_144) };
    done(put(size, workspace_bytes(mode, x, few, many)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    _handle: *mut c_void,
    _mode: c_int,
    _operations: c_int,
    _activation: *const c_void,
    _x: *const c_void,
    size: Out<'_, usize>,
) -> c_int {
    done(put(size, 0))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    _handle: *mut c_void,
    mode: c_int,
    _operations: c_int,
    x: Option<&mut Shape>,
    _y: *const c_void,
    _dy: *const c_void,
    _dz: *const c_void,
    _dx: *const c_void,
    _parameters: *const c_void,
    _activation: *const c_void,
    size: Out<'_, usize>,
) -> c_int {
    done(put(size, workspace_bytes(mode, x, 536_612, 269_360)))
}
