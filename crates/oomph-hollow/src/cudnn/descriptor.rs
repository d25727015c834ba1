//! Descriptors of the older functions: tensors and filters give back what was set, the others are remembered only.

use std::ffi::{c_int, c_void};
use std::slice;

use super::{BAD_PARAM, SUCCESS, done};
use crate::device;
use crate::estimate::{self, Estimate};
use crate::object::{Out, create, put};

/// The most dimensions a tensor of cuDNN's can have.
pub(super) const MOST_DIMENSIONS: usize = 8;

/// A tensor or a filter.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    pub(super) data_type: c_int,
    pub(super) format: c_int,
    pub(super) dimensions: Vec<c_int>,
    pub(super) strides: Vec<c_int>,
}

impl Shape {
    pub(super) fn channels(&self) -> c_int {
        self.dimensions.get(1).copied().unwrap_or(0)
    }

    /// Whether channels stand beside one another in memory.
    pub(super) fn is_channels_last(&self) -> bool {
        self.strides.get(1) == Some(&1) && self.channels() > 1
    }
}

/// Bytes of an element, by `cudnnDataType_t`.
pub(super) fn element_bytes(data_type: c_int) -> u64 {
    match data_type {
        1 => 8,
        2 | 9 => 2,
        _ => 4,
    }
}

/// A descriptor whose content changes nothing: pooling, activation, spatial transformers, attention. Several names in
/// the list.
pub(super) struct Opaque;

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnCreateActivationDescriptor(descriptor: Out<'_, *mut Opaque>) -> c_int {
    done(create(descriptor, Opaque))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnDestroyActivationDescriptor(descriptor: Option<Box<Opaque>>) -> c_int {
    done(descriptor.is_some())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnCreateTensorDescriptor(descriptor: Out<'_, *mut Shape>) -> c_int {
    done(create(descriptor, Shape::default()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnDestroyTensorDescriptor(descriptor: Option<Box<Shape>>) -> c_int {
    done(descriptor.is_some())
}

/// # Safety
///
/// `dimensions` and `strides` point to `count` numbers.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnSetTensorNdDescriptor(
    descriptor: Option<&mut Shape>,
    data_type: c_int,
    count: c_int,
    dimensions: *const c_int,
    strides: *const c_int,
) -> c_int {
    // SAFETY: the caller's arrays.
    let (dimensions, strides) = unsafe { (numbers(dimensions, count), numbers(strides, count)) };
    let (Some(descriptor), Some(dimensions), Some(strides)) = (descriptor, dimensions, strides) else {
        return BAD_PARAM;
    };
    *descriptor = Shape { data_type, format: 0, dimensions, strides };
    SUCCESS
}

/// # Safety
///
/// `dimensions` points to `count` numbers.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnSetFilterNdDescriptor(
    descriptor: Option<&mut Shape>,
    data_type: c_int,
    format: c_int,
    count: c_int,
    dimensions: *const c_int,
) -> c_int {
    // SAFETY: the caller's array.
    let (Some(descriptor), Some(dimensions)) = (descriptor, unsafe { numbers(dimensions, count) }) else {
        return BAD_PARAM;
    };
    *descriptor = Shape { data_type, format, dimensions, strides: Vec::new() };
    SUCCESS
}

/// # Safety
///
/// `numbers` is null or points to `count` numbers.
pub(super) unsafe fn numbers(numbers: *const c_int, count: c_int) -> Option<Vec<c_int>> {
    let count = usize::try_from(count).ok().filter(|count| *count <= MOST_DIMENSIONS)?;
    // SAFETY: not null, so the caller vouches for it.
    (!numbers.is_null()).then(|| unsafe { slice::from_raw_parts(numbers, count) }.to_vec())
}

/// # Safety
///
/// The arrays have room for `wanted` numbers.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnGetTensorNdDescriptor(
    descriptor: Option<&mut Shape>,
    wanted: c_int,
    data_type: Out<'_, c_int>,
    count: Out<'_, c_int>,
    dimensions: *mut c_int,
    strides: *mut c_int,
) -> c_int {
    let Some(shape) = descriptor else { return BAD_PARAM };
    // SAFETY: the caller's arrays.
    unsafe {
        copy(&shape.dimensions, wanted, dimensions);
        copy(&shape.strides, wanted, strides);
    }
    done(put(data_type, shape.data_type) && put(count, shape.dimensions.len() as c_int))
}

/// # Safety
///
/// The array has room for `wanted` numbers.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnGetFilterNdDescriptor(
    descriptor: Option<&mut Shape>,
    wanted: c_int,
    data_type: Out<'_, c_int>,
    format: Out<'_, c_int>,
    count: Out<'_, c_int>,
    dimensions: *mut c_int,
) -> c_int {
    let Some(shape) = descriptor else { return BAD_PARAM };
    // SAFETY: the caller's array.
    unsafe { copy(&shape.dimensions, wanted, dimensions) };
    let written = put(data_type, shape.data_type) && put(format, shape.format);
    done(written && put(count, shape.dimensions.len() as c_int))
}

/// # Safety
///
/// `place` is null or has room for `wanted` numbers.
unsafe fn copy(numbers: &[c_int], wanted: c_int, place: *mut c_int) {
    let count = usize::try_from(wanted).unwrap_or(0).min(numbers.len());
    if !place.is_null() {
        // SAFETY: not null, and no more than was asked for.
        unsafe { std::ptr::copy_nonoverlapping(numbers.as_ptr(), place, count) };
    }
}

/// How much dropout drops.
#[derive(Default)]
pub(super) struct Dropout {
    pub(super) probability: f32,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnCreateDropoutDescriptor(descriptor: Out<'_, *mut Dropout>) -> c_int {
    done(create(descriptor, Dropout::default()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnDestroyDropoutDescriptor(descriptor: Option<Box<Dropout>>) -> c_int {
    done(descriptor.is_some())
}

/// `cudnnRestoreDropoutDescriptor` is another name for this in the list.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnSetDropoutDescriptor(
    descriptor: Option<&mut Dropout>,
    _handle: *mut c_void,
    probability: f32,
    _states: *mut c_void,
    _size: usize,
    _seed: u64,
) -> c_int {
    let Some(descriptor) = descriptor else { return BAD_PARAM };
    descriptor.probability = probability;
    SUCCESS
}

/// The states of the generator that dropout draws from: 24 bytes for every thread that the card holds at a time, which
/// is what cuDNN says on an H200.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnDropoutGetStatesSize(_handle: *mut c_void, size: Out<'_, usize>) -> c_int {
    let Some(card) = device::current_card() else { return done(put(size, 0)) };
    if !card.measured {
        estimate::note(Estimate::DropoutStates, &card.name);
    }
    done(put(size, (24 * card.resident_threads()) as usize))
}
