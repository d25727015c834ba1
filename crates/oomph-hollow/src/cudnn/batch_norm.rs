//! Batch normalization: workspace and what the forward pass keeps for the backward pass.
//!
//! The kernels that PyTorch asks for keep everything on chip or in tensors of PyTorch's own: on an H200 with cuDNN 9.19
//! no block beside them was allocated in any of the recorded runs, with channels first in single precision nor with
//! channels last in bfloat16. So every size here is zero.

use std::ffi::{c_int, c_void};

use super::done;
use crate::object::{Out, put};

#[unsafe(no_mangle)]
extern "C" fn cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    _handle: *mut c_void,
    _mode: c_int,
    _operations: c_int,
    _x: *const c_void,
    _z: *const c_void,
    _y: *const c_void,
    _parameters: *const c_void,
    _activation: *const c_void,
    size: Out<'_, usize>,
) -> c_int {
    done(put(size, 0))
}

#[unsafe(no_mangle)]
extern "C" fn cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
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
extern "C" fn cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    _handle: *mut c_void,
    _mode: c_int,
    _operations: c_int,
    _x: *const c_void,
    _y: *const c_void,
    _dy: *const c_void,
    _dz: *const c_void,
    _dx: *const c_void,
    _parameters: *const c_void,
    _activation: *const c_void,
    size: Out<'_, usize>,
) -> c_int {
    done(put(size, 0))
}
