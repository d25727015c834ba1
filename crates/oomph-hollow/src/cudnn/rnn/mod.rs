//! Recurrent networks: how they are described, and where their weights lie. What a pass takes is in [`sizes`].

mod sizes;

use std::ffi::{c_int, c_void};
use std::{ptr, slice};

use super::descriptor::{Dropout, Shape, element_bytes};
use super::{BAD_PARAM, SUCCESS, done};
use crate::estimate::{self, Estimate};
use crate::object::{Out, create, put};
use sizes::Sequences;

const LSTM: c_int = 2;
const GRU: c_int = 3;
const NO_BIAS: c_int = 0;
const BOTH_BIASES: c_int = 2;
const TRAINING: c_int = 1;
const PERSISTENT: c_int = 1;
const HALF: c_int = 2;
const PADDED_INPUT_AND_OUTPUT: u32 = 1;

/// A recurrent network, as described.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Network {
    algorithm: c_int,
    cell: c_int,
    bias: c_int,
    directions: u64,
    data_type: c_int,
    input_size: u64,
    hidden_size: u64,
    projection_size: u64,
    layers: u64,
    has_dropout: bool,
    /// Input and output have padding after each sequence, and come in any order of lengths.
    has_padding: bool,
}

impl Network {
    /// Matrices that a layer multiplies its input with; as many again for its state.
    fn gates(&self) -> u64 {
        match self.cell {
            LSTM => 4,
            GRU => 3,
            _ => 1,
        }
    }

    /// What a layer hands on, in one direction.
    fn output_size(&self) -> u64 {
        if self.projection_size == 0 { self.hidden_size } else { self.projection_size }
    }

    /// Kernels that keep the weights on chip. cuDNN has them for half precision only, and takes its others elsewhere.
    fn is_persistent(&self) -> bool {
        self.algorithm == PERSISTENT && self.data_type == HALF
    }

    fn is_projected(&self) -> bool {
        self.output_size() != self.hidden_size
    }

    /// Rows and columns of a matrix of a layer (of one direction); none if there is no such matrix.
    fn matrix(&self, pseudo_layer: u64, number: u64) -> Option<(u64, u64)> {
        let input = if pseudo_layer < self.directions { self.input_size } else { self.output_size() * self.directions };
        match number {
            number if number < self.gates() => Some((self.hidden_size, input)),
            number if number < 2 * self.gates() => Some((self.hidden_size, self.output_size())),
            number if number == 2 * self.gates() && self.is_projected() => Some((self.output_size(), self.hidden_size)),
            _ => None,
        }
    }

    fn has_bias(&self, number: u64) -> bool {
        match self.bias {
            NO_BIAS => false,
            BOTH_BIASES => number < 2 * self.gates(),
            1 => number < self.gates(),
            _ => number >= self.gates() && number < 2 * self.gates(),
        }
    }

    /// Elements of a matrix or of all of them up to one: matrices lie layer by layer, biases after the last matrix.
    fn walk(&self, visit: &mut impl FnMut(u64, u64, bool, u64)) {
        for biases in [false, true] {
            for layer in 0..self.layers * self.directions {
                for number in 0..=2 * self.gates() {
                    match self.matrix(layer, number) {
                        Some((rows, columns)) if !biases => visit(layer, number, false, rows * columns),
                        Some((rows, _)) if self.has_bias(number) => visit(layer, number, true, rows),
                        _ => {}
                    }
                }
            }
        }
    }

    fn weight_bytes(&self) -> u64 {
        let mut elements = 0;
        self.walk(&mut |_, _, _, size| elements += size);
        elements * element_bytes(self.data_type)
    }

    /// Where a matrix or a bias begins.
    fn offset_bytes(&self, layer: u64, number: u64, bias: bool) -> Option<u64> {
        let (mut elements, mut found) = (0, None);
        self.walk(&mut |at_layer, at_number, at_bias, size| {
            if (at_layer, at_number, at_bias) == (layer, number, bias) {
                found = Some(elements);
            }
            elements += size;
        });
        found.map(|elements: u64| elements * element_bytes(self.data_type))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnCreateRNNDescriptor(descriptor: Out<'_, *mut Network>) -> c_int {
    done(create(descriptor, Network::default()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnDestroyRNNDescriptor(descriptor: Option<Box<Network>>) -> c_int {
    done(descriptor.is_some())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnSetRNNDescriptor_v8(
    descriptor: Option<&mut Network>,
    algorithm: c_int,
    cell: c_int,
    bias: c_int,
    directions: c_int,
    _input_mode: c_int,
    data_type: c_int,
    _precision: c_int,
    _math: c_int,
    input_size: i32,
    hidden_size: i32,
    projection_size: i32,
    layers: i32,
    dropout: Option<&mut Dropout>,
    flags: u32,
) -> c_int {
    let Some(descriptor) = descriptor else { return BAD_PARAM };
    let size = |size: i32| u64::try_from(size).unwrap_or(0);
    *descriptor = Network {
        algorithm,
        cell,
        bias,
        directions: if directions == 1 { 2 } else { 1 },
        data_type,
        input_size: size(input_size),
        hidden_size: size(hidden_size),
        projection_size: size(projection_size),
        layers: size(layers),
        has_dropout: dropout.is_some_and(|dropout| dropout.probability > 0.0),
        has_padding: flags & PADDED_INPUT_AND_OUTPUT != 0,
    };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnCreateRNNDataDescriptor(descriptor: Out<'_, *mut Sequences>) -> c_int {
    done(create(descriptor, Sequences::default()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnDestroyRNNDataDescriptor(descriptor: Option<Box<Sequences>>) -> c_int {
    done(descriptor.is_some())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnSetRNNDataDescriptor(
    descriptor: Option<&mut Sequences>,
    _data_type: c_int,
    _layout: c_int,
    steps: c_int,
    batch: c_int,
    _vector_size: c_int,
    lengths: *const c_int,
    _padding: *mut c_void,
) -> c_int {
    let (Some(descriptor), Ok(steps), Ok(batch)) = (descriptor, u64::try_from(steps), u64::try_from(batch)) else {
        return BAD_PARAM;
    };
    let all_steps = if lengths.is_null() {
        steps * batch
    } else {
        // SAFETY: cuDNN reads an array on the host with a length for each sequence of the batch here.
        let lengths = unsafe { slice::from_raw_parts(lengths, batch as usize) };
        lengths.iter().map(|&length| u64::try_from(length).unwrap_or(0)).sum()
    };
    *descriptor = Sequences { steps, batch, all_steps };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnGetRNNWeightSpaceSize(
    _handle: *mut c_void,
    network: Option<&mut Network>,
    size: Out<'_, usize>,
) -> c_int {
    network.map_or(BAD_PARAM, |network| done(put(size, network.weight_bytes() as usize)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnGetRNNTempSpaceSizes(
    _handle: *mut c_void,
    network: Option<&mut Network>,
    mode: c_int,
    sequences: Option<&mut Sequences>,
    workspace: Out<'_, usize>,
    reserve: Out<'_, usize>,
) -> c_int {
    let (Some(network), Some(sequences)) = (network, sequences) else { return BAD_PARAM };
    let is_training = mode == TRAINING;
    if !network.is_as_measured(sequences) {
        estimate::note(Estimate::RecurrentNetwork, (&*network, &*sequences, is_training));
    }
    put(reserve, if is_training { network.reserve_bytes(sequences) as usize } else { 0 });
    done(put(workspace, network.workspace_bytes(sequences, is_training) as usize))
}

/// Where a matrix and its bias lie inside the weights, and their shapes.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnGetRNNWeightParams(
    _handle: *mut c_void,
    network: Option<&mut Network>,
    pseudo_layer: i32,
    _size: usize,
    weights: *mut c_void,
    number: i32,
    matrix_shape: Option<&mut Shape>,
    matrix: Out<'_, *mut c_void>,
    bias_shape: Option<&mut Shape>,
    bias: Out<'_, *mut c_void>,
) -> c_int {
    let (Some(network), Ok(layer), Ok(number)) = (network, u64::try_from(pseudo_layer), u64::try_from(number)) else {
        return BAD_PARAM;
    };
    let place = |offset: Option<u64>| {
        // The weights are device memory: their address is only counted with.
        offset.map_or(ptr::null_mut(), |offset| weights.wrapping_byte_add(offset as usize))
    };
    let shape = |rows: u64, columns: u64| Shape {
        data_type: network.data_type,
        format: 0,
        dimensions: vec![1, rows as c_int, columns as c_int],
        strides: vec![(rows * columns) as c_int, columns as c_int, 1],
    };
    let size = network.matrix(layer, number);
    if let (Some(matrix_shape), Some((rows, columns))) = (matrix_shape, size) {
        *matrix_shape = shape(rows, columns);
    }
    if let (Some(bias_shape), Some((rows, _)), true) = (bias_shape, size, network.has_bias(number)) {
        *bias_shape = shape(rows, 1);
    }
    // Callers leave out what they do not want.
    put(bias, place(network.offset_bytes(layer, number, true)));
    put(matrix, place(network.offset_bytes(layer, number, false)));
    SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn network(cell: c_int, input_size: u64, hidden_size: u64, layers: u64) -> Network {
        Network {
            algorithm: 0,
            cell,
            bias: BOTH_BIASES,
            directions: 1,
            data_type: 0,
            input_size,
            hidden_size,
            projection_size: hidden_size,
            layers,
            has_dropout: false,
            has_padding: true,
        }
    }

    #[test]
    fn lengths_of_a_ragged_batch_are_added_up() {
        let all_steps = |lengths: *const c_int| {
            let mut sequences = Sequences::default();
            let into = Some(&mut sequences);
            // SAFETY: a descriptor that lives, and no lengths or three.
            let status = unsafe { cudnnSetRNNDataDescriptor(into, 0, 1, 7, 3, 16, lengths, ptr::null_mut()) };
            assert_eq!(status, SUCCESS);
            sequences.all_steps
        };
        assert_eq!(all_steps([7, 4, 1].as_ptr()), 12);
        assert_eq!(all_steps(ptr::null()), 21);
    }

    #[test]
    fn matrices_come_first_and_biases_after_the_last() {
        let lstm = network(LSTM, 3, 5, 2);
        assert_eq!(lstm.offset_bytes(0, 0, false), Some(0));
        assert_eq!(lstm.offset_bytes(0, 4, false), Some(4 * 4 * 15));
        assert_eq!(lstm.offset_bytes(1, 0, false), Some(4 * (4 * 15 + 4 * 25)));
        assert_eq!(lstm.offset_bytes(0, 0, true), Some(4 * (4 * 15 + 12 * 25)));
        assert_eq!(lstm.offset_bytes(0, 8, false), None);
    }
}
