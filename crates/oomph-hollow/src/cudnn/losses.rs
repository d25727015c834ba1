//! Losses: the workspace of connectionist temporal classification.
//!
//! An estimate: the logarithms of all probabilities in single precision, and two lattices (forward and backward) with a
//! state for every step and every place in a label with blanks between, labels taken as long as cuDNN allows, 256.

use std::ffi::{c_int, c_void};

use super::descriptor::Shape;
use super::{BAD_PARAM, done};
use crate::estimate::{self, Estimate};
use crate::object::{Out, put};

/// Places in the longest label that cuDNN takes, with a blank around each.
const MOST_PLACES: u64 = 2 * 256 + 1;

/// Probabilities are steps by batch by letters.
fn workspace_bytes(probabilities: &Shape) -> u64 {
    let [steps, batch, letters] = [0, 1, 2].map(|at| probabilities.dimensions.get(at).copied().unwrap_or(0));
    let product = |sizes: [c_int; 2]| sizes.iter().map(|size| u64::from(size.unsigned_abs())).product::<u64>();
    let bytes = 4 * product([steps, batch]) * (u64::from(letters.unsigned_abs()) + 2 * MOST_PLACES);
    estimate::note(Estimate::CtcLoss, bytes);
    bytes
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnGetCTCLossWorkspaceSize(
    _handle: *mut c_void,
    probabilities: Option<&mut Shape>,
    _gradients: *const c_void,
    _labels: *const c_int,
    _label_lengths: *const c_int,
    _input_lengths: *const c_int,
    _algorithm: c_int,
    _descriptor: *mut c_void,
    size: Out<'_, usize>,
) -> c_int {
    probabilities.map_or(BAD_PARAM, |shape| done(put(size, workspace_bytes(shape) as usize)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnGetCTCLossWorkspaceSize_v8(
    _handle: *mut c_void,
    _algorithm: c_int,
    _descriptor: *mut c_void,
    probabilities: Option<&mut Shape>,
    _gradients: *const c_void,
    size: Out<'_, usize>,
) -> c_int {
    probabilities.map_or(BAD_PARAM, |shape| done(put(size, workspace_bytes(shape) as usize)))
}
