//! Recurrent networks: where their weights lie, and the memory that a pass takes.
//!
//! Sizes were found from what cuDNN 9.19 said on an H200 for 882 networks (`corpus/h200/extra_plan`). They go by `state`,
//! the bytes of one direction's hidden state over all steps, and `step`, those of one step.
//!
//! - The reserve of a training pass is exact: 5 states a layer for LSTM (four gates, the cell), 6 for GRU, 1 for others,
//!   one more between two layers, a bit an element where there is dropout, and 256 bytes.
//! - The workspace has a copy of the input, of the weights, 8 MiB for each layer and direction, and what
//!   [`Network::scratch`] says. For LSTM and GRU in one direction it is exact from two steps on (the persistent kernels:
//!   from 8 steps and 128 hidden units on); in two directions and for plain cells it is within 15 %.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::descriptor::{Dropout, Shape, element_bytes};
use super::{BAD_PARAM, SUCCESS, done};
use crate::object::{Out, create, put};

const RELU: c_int = 0;
const TANH: c_int = 1;
const LSTM: c_int = 2;
const GRU: c_int = 3;
const NO_BIAS: c_int = 0;
const BOTH_BIASES: c_int = 2;
const TRAINING: c_int = 1;
const PERSISTENT: c_int = 1;
const HALF: c_int = 2;

/// What cuBLAS gets for each layer and direction.
const PRODUCTS_BYTES: u64 = 8 << 20;

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

    /// Bytes of one direction's hidden state over all steps.
    fn state_bytes(&self, sequences: &Sequences) -> u64 {
        sequences.steps * self.step_bytes(sequences)
    }

    fn step_bytes(&self, sequences: &Sequences) -> u64 {
        sequences.batch * self.hidden_size * element_bytes(self.data_type)
    }

    fn reserve_bytes(&self, sequences: &Sequences) -> u64 {
        let state = self.state_bytes(sequences);
        let between = self.layers.saturating_sub(1);
        let projected =
            if self.is_projected() { state + state * self.output_size() / self.hidden_size.max(1) } else { 0 };
        let mask_bytes = (state / element_bytes(self.data_type)).div_ceil(8).next_multiple_of(256);
        let mask = if self.has_dropout { mask_bytes } else { 0 };
        let layers = self.layers * (kept_states(self.cell) * state + projected);
        self.directions * (layers + between * (state + mask)) + 256
    }

    fn workspace_bytes(&self, sequences: &Sequences, is_training: bool) -> u64 {
        let (state, input) = (self.state_bytes(sequences), self.input_bytes(sequences));
        let mut weights = 0;
        self.walk(&mut |_, _, is_bias, size| weights += if is_bias { 0 } else { size });
        // Masked input of the next layer; in two directions there is room for it elsewhere.
        let has_mask = self.has_dropout && self.layers > 1 && self.directions == 1;
        let is_kept = kept_states(self.cell) > 1 && !self.is_persistent();
        let masked = if has_mask && is_kept { state } else { 0 };
        let fixed = self.layers * self.directions * PRODUCTS_BYTES + 256 + (8 * sequences.batch).next_multiple_of(32);
        input + weights * element_bytes(self.data_type) + fixed + masked + self.scratch(sequences, is_training)
    }

    fn input_bytes(&self, sequences: &Sequences) -> u64 {
        sequences.batch * sequences.steps * self.input_size * element_bytes(self.data_type)
    }

    /// Intermediate results, as found for each kind of cell, kernel and direction.
    fn scratch(&self, sequences: &Sequences, is_training: bool) -> u64 {
        let (state, input) = (self.state_bytes(sequences), self.input_bytes(sequences));
        let step = self.step_bytes(sequences);
        let (layers, is_deep) = (self.layers, u64::from(self.layers > 1));
        let wide = state.max(input);
        match (self.cell, self.is_persistent(), self.directions) {
            (LSTM, false, 1) => {
                let projected = if self.is_projected() { 11 * layers } else { 0 };
                let turned = u64::from(layers == 1 && self.input_size >= self.hidden_size);
                3 * state + 2 * wide + (10 * layers + projected + turned) * step
            }
            (LSTM, false, _) => 14 * state + 24 * layers * step,
            (LSTM, true, 1) => 21 * state + 8 * layers * step,
            (LSTM, true, _) => 30 * state + 18 * layers * step,
            (TANH | RELU, false, 1) if !is_training => 2 * state + 3 * layers * step,
            (TANH | RELU, true, 1) if !is_training => 6 * state + 4 * layers * step,
            (_, false, 1) => 3 * state + wide + 5 * layers * step + if layers == 1 && is_training { input } else { 0 },
            (_, false, _) => 12 * state + 14 * layers * step + is_deep * input,
            (cell, true, 1) => (if cell == GRU { 18 } else { 13 } + is_deep) * state + input + 6 * layers * step,
            (cell, true, _) => (if cell == GRU { 24 } else { 19 } + 2 * is_deep) * state + input + 14 * layers * step,
        }
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
    _flags: u32,
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
    let is_training = mode == TRAINING;
    put(reserve, if is_training { network.reserve_bytes(sequences) as usize } else { 0 });
    done(put(workspace, network.workspace_bytes(sequences, is_training) as usize))
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
        }
    }

    /// What cuDNN said on an H200.
    #[test]
    fn sizes_are_those_of_a_card() {
        let sizes = |network: &Network, steps, batch| {
            let sequences = Sequences { steps, batch };
            (network.weight_bytes(), network.workspace_bytes(&sequences, true), network.reserve_bytes(&sequences))
        };
        let two_layers = network(LSTM, 512, 512, 2);
        assert_eq!(sizes(&two_layers, 32, 64), (16_809_984, 61_342_464, 46_137_600));
        let one_layer = network(LSTM, 256, 512, 1);
        assert_eq!(sizes(&one_layer, 50, 64), (6_307_840, 52_036_352, 32_768_256));
        let half = Network { data_type: 2, ..one_layer.clone() };
        assert_eq!(sizes(&half, 50, 64), (3_153_920, 30_212_864, 16_384_256));
        let persistent = Network { algorithm: PERSISTENT, ..half };
        assert_eq!(sizes(&persistent, 50, 64).1, 82_510_592);
        let both_ways = Network { directions: 2, ..one_layer.clone() };
        assert_eq!(sizes(&both_ways, 50, 64).1, 127_533_824);
        let projected = Network { projection_size: 128, ..one_layer };
        assert_eq!((sizes(&projected, 50, 64).1, sizes(&projected, 50, 64).2), (50_594_560, 40_960_256));
        let dropped = Network { has_dropout: true, ..network(LSTM, 650, 650, 2) };
        assert_eq!((sizes(&dropped, 35, 64).1, sizes(&dropped, 35, 64).2), (87_913_984, 64_246_272));
        assert_eq!(sizes(&network(GRU, 128, 512, 1), 64, 32), (3_944_448, 31_523_328, 25_166_080));
        assert_eq!(sizes(&network(GRU, 256, 512, 2), 50, 64).1, 58_589_952);
    }

    /// Every network that cuDNN was asked about on an H200.
    #[test]
    fn sizes_are_close_to_those_of_a_card_for_all_that_were_asked() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/h200/extra_plan/cudnn_sizes.jsonl");
        let mut exact = 0;
        let mut seen = 0;
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let (Some(work), Some(reserve)) = (row["work"].as_u64(), row["reserve"].as_u64()) else { continue };
            let number = |name: &str| row[name].as_u64().unwrap();
            let cell = ["relu", "tanh", "lstm", "gru"].iter().position(|name| row["mode"] == *name).unwrap() as c_int;
            let network = Network {
                algorithm: number("algo") as c_int,
                cell,
                bias: BOTH_BIASES,
                directions: number("bi") + 1,
                data_type: if row["dt"] == "f32" {
                    0
                } else if row["dt"] == "f16" {
                    HALF
                } else {
                    9
                },
                input_size: number("I"),
                hidden_size: number("H"),
                projection_size: number("P"),
                layers: number("L"),
                has_dropout: row["drop"].as_f64().unwrap() > 0.0,
            };
            let sequences = Sequences { steps: number("T"), batch: number("B") };
            let is_training = number("train") == 1;
            let ours = network.workspace_bytes(&sequences, is_training);
            seen += 1;
            exact += usize::from(ours == work);
            assert_eq!(if is_training { network.reserve_bytes(&sequences) } else { 0 }, reserve, "{line}");
            let error = ours.abs_diff(work) as f64 / work as f64;
            let is_common = network.directions == 1 && kept_states(cell) > 1 && !network.is_persistent();
            let limit = if is_common {
                0.005
            } else if network.is_persistent() {
                0.5
            } else {
                0.15
            };
            assert!(error <= limit, "{ours} {line}");
        }
        assert!(seen > 800 && exact * 10 > seen * 6, "{exact} of {seen}");
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
