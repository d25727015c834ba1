//! Recurrent networks: where their weights lie, and the memory that a pass takes.
//!
//! With `state` for the bytes of one hidden state over all steps (batch x steps x hidden size), on an H200 with cuDNN
//! 9.19 the reserve of a training pass was to the byte, for 1 and 2 layers of LSTM and for GRU:
//! 5 states a layer for LSTM (four gates, the cell) and 6 for GRU, one more between two layers, and 256 bytes.
//!
//! The workspace is an estimate: 7 states a layer and 20 hidden states of one step. Measured: LSTM, 2 layers, exact;
//! LSTM, 1 layer, 6.8 % more than this; GRU, 2.7 % more.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::descriptor::{Shape, element_bytes};
use super::{BAD_PARAM, SUCCESS, done};
use crate::object::{Out, create, put};

const LSTM: c_int = 2;
const GRU: c_int = 3;
const NO_BIAS: c_int = 0;
const BOTH_BIASES: c_int = 2;
const TRAINING: c_int = 1;

/// What is kept a layer for the backward pass, in states.
fn kept_states(cell: c_int) -> u64 {
    match cell {
        LSTM => 5,
        GRU => 6,
        _ => 1,
    }
}

/// A recurrent network, as described.
#[derive(Clone, Debug, Default)]
pub(super) struct Network {
    cell: c_int,
    bias: c_int,
    directions: u64,
    data_type: c_int,
    input_size: u64,
    hidden_size: u64,
    projection_size: u64,
    layers: u64,
}

/// A batch of sequences.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequences {
    steps: u64,
    batch: u64,
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

    /// Bytes of one hidden state over all steps, both directions.
    fn state_bytes(&self, sequences: &Sequences) -> u64 {
        sequences.steps * self.step_bytes(sequences)
    }

    fn step_bytes(&self, sequences: &Sequences) -> u64 {
        sequences.batch * self.hidden_size * self.directions * element_bytes(self.data_type)
    }

    fn reserve_bytes(&self, sequences: &Sequences) -> u64 {
        let states = self.layers * kept_states(self.cell) + self.layers.saturating_sub(1);
        states * self.state_bytes(sequences) + 256
    }

    fn workspace_bytes(&self, sequences: &Sequences) -> u64 {
        7 * self.layers * self.state_bytes(sequences) + 20 * self.step_bytes(sequences) + 768
    }
}

#[unsafe(no_mangle)]
extern "C" fn cudnnCreateRNNDescriptor(descriptor: Out<'_, *mut Network>) -> c_int {
    done(create(descriptor, Network::default()))
}

#[unsafe(no_mangle)]
extern "C" fn cudnnDestroyRNNDescriptor(descriptor: Option<Box<Network>>) -> c_int {
    done(descriptor.is_some())
}

#[unsafe(no_mangle)]
extern "C" fn cudnnSetRNNDescriptor_v8(
    descriptor: Option<&mut Network>,
    _algorithm: c_int,
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
    _dropout: *mut c_void,
    _flags: u32,
) -> c_int {
    let Some(descriptor) = descriptor else { return BAD_PARAM };
    let size = |size: i32| u64::try_from(size).unwrap_or(0);
    *descriptor = Network {
        cell,
        bias,
        directions: if directions == 1 { 2 } else { 1 },
        data_type,
        input_size: size(input_size),
        hidden_size: size(hidden_size),
        projection_size: size(projection_size),
        layers: size(layers),
    };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cudnnCreateRNNDataDescriptor(descriptor: Out<'_, *mut Sequences>) -> c_int {
    done(create(descriptor, Sequences::default()))
}

#[unsafe(no_mangle)]
extern "C" fn cudnnDestroyRNNDataDescriptor(descriptor: Option<Box<Sequences>>) -> c_int {
    done(descriptor.is_some())
}

#[unsafe(no_mangle)]
extern "C" fn cudnnSetRNNDataDescriptor(
    descriptor: Option<&mut Sequences>,
    _data_type: c_int,
    _layout: c_int,
    steps: c_int,
    batch: c_int,
    _vector_size: c_int,
    _lengths: *const c_int,
    _padding: *mut c_void,
) -> c_int {
    let Some(descriptor) = descriptor else { return BAD_PARAM };
    *descriptor = Sequences { steps: u64::try_from(steps).unwrap_or(0), batch: u64::try_from(batch).unwrap_or(0) };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cudnnGetRNNWeightSpaceSize(
    _handle: *mut c_void,
    network: Option<&mut Network>,
    size: Out<'_, usize>,
) -> c_int {
    network.map_or(BAD_PARAM, |network| done(put(size, network.weight_bytes() as usize)))
}

#[unsafe(no_mangle)]
extern "C" fn cudnnGetRNNTempSpaceSizes(
    _handle: *mut c_void,
    network: Option<&mut Network>,
    mode: c_int,
    sequences: Option<&mut Sequences>,
    workspace: Out<'_, usize>,
    reserve: Out<'_, usize>,
) -> c_int {
    let (Some(network), Some(sequences)) = (network, sequences) else { return BAD_PARAM };
    let kept = if mode == TRAINING { network.reserve_bytes(sequences) } else { 0 };
    put(reserve, kept as usize);
    done(put(workspace, network.workspace_bytes(sequences) as usize))
}

/// Where a matrix and its bias lie inside the weights, and their shapes.
#[unsafe(no_mangle)]
extern "C" fn cudnnGetRNNWeightParams(
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

    fn network(cell: c_int, input_size: u64, hidden_size: u64, layers: u64) -> Network {
        Network {
            cell,
            bias: BOTH_BIASES,
            directions: 1,
            data_type: 0,
            input_size,
            hidden_size,
            projection_size: hidden_size,
            layers,
        }
    }

    /// Blocks that PyTorch allocated on an H200.
    #[test]
    fn sizes_are_those_of_a_card() {
        let lstm = network(LSTM, 512, 512, 2);
        let sequences = Sequences { steps: 32, batch: 64 };
        assert_eq!(lstm.weight_bytes(), 16_809_984);
        assert_eq!(lstm.reserve_bytes(&sequences), 46_137_600);
        assert_eq!(lstm.workspace_bytes(&sequences), 61_342_464);
        let lstm = network(LSTM, 256, 512, 1);
        assert_eq!(lstm.weight_bytes(), 6_307_840);
        assert_eq!(lstm.reserve_bytes(&Sequences { steps: 50, batch: 64 }), 32_768_256);
        let gru = network(GRU, 128, 512, 1);
        assert_eq!(gru.weight_bytes(), 3_944_448);
        assert_eq!(gru.reserve_bytes(&Sequences { steps: 64, batch: 32 }), 25_166_080);
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
