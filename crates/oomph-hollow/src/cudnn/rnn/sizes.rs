//! The memory that a pass of a recurrent network takes: cuDNN's workspace, and the reserve kept for the backward pass.
//!
//! Both were found from what cuDNN 9.19 said on an H200 for some 2,370 networks (`corpus/h200/extra_plan`): plain cells,
//! LSTM and GRU, one and two directions, one to four layers, dense and ragged batches, with dropout and with projections.
//! All of them are met to the byte. They were asked with padded input and output; without it (PyTorch's packed sequences)
//! what the padding takes is left out, which is exact for the one job measured so. Where [`Sequences::steps_at_once`]
//! changes between what was asked is a guess.
//!
//! A ragged batch is worked on packed (the sum of its lengths). Padded input and output are copied first, and as much is
//! set aside as if all sequences were as long as the longest. A training workspace serves the forward and the backward
//! pass: it is the larger of both.

use super::{GRU, LSTM, Network};
use crate::cudnn::descriptor::element_bytes;
use crate::cudnn::real;
use crate::device;

/// What cuBLAS gets for each layer and direction.
const PRODUCTS_BYTES: u64 = 8 << 20;
/// What cuDNN adds to both sizes.
const HEADER_BYTES: u64 = 256;
/// Rows that the backward pass of the persistent kernels has beside its batch.
const PERSISTENT_ROWS: u64 = 2432;

/// A batch of sequences.
#[derive(Clone, Debug, Default, Hash)]
pub(in crate::cudnn) struct Sequences {
    /// Steps of the longest sequence.
    pub(super) steps: u64,
    pub(super) batch: u64,
    /// Steps of all sequences together.
    pub(super) all_steps: u64,
}

impl Sequences {
    fn padded_steps(&self) -> u64 {
        self.steps * self.batch
    }

    /// Steps whose gradients of several layers in one direction are worked on at once: few for a large batch.
    ///
    /// cuDNN was asked for 33 batches up to 512 and for up to 1000 steps.
    fn steps_at_once(&self) -> u64 {
        match (self.batch, self.steps) {
            (0..=1, _) => 32,
            (2..=8, _) => 16,
            (9..=16, _) | (_, 128..) => 8,
            (17..=96, _) => 4,
            _ => 2,
        }
    }
}

/// Every buffer begins at a multiple of 32 bytes.
fn aligned(bytes: u64) -> u64 {
    bytes.next_multiple_of(32)
}

/// Bytes of what a network works on.
struct Sizes {
    /// The input with its padding.
    padded_input: u64,
    packed_input: u64,
    /// The hidden state of one direction in all steps.
    state: u64,
    /// What one direction hands on, with its padding.
    padded_output: u64,
    /// The hidden state of one direction in one step.
    step: u64,
    /// One step of every layer and direction, and the same of what is handed on.
    steps: u64,
    output_steps: u64,
}

/// The release of cuDNN that was asked, by `cudnnGetVersion() / 100`.
const MEASURED_RELEASE: usize = 919;
/// The most layers, sequences and steps that it was asked for.
const MEASURED_LAYERS: u64 = 4;
const MEASURED_BATCH: u64 = 512;
const MEASURED_STEPS: u64 = 1000;

impl Network {
    /// Whether a card gave these sizes to networks like this one: the same cuDNN, a measured card, padded sequences, no
    /// deeper, no longer and no larger a batch.
    pub(super) fn is_as_measured(&self, sequences: &Sequences) -> bool {
        self.is_in_measured_range(sequences)
            && real::version() / 100 == MEASURED_RELEASE
            && device::current_card().is_some_and(|card| card.measured)
    }

    fn is_in_measured_range(&self, sequences: &Sequences) -> bool {
        self.has_padding
            && self.layers <= MEASURED_LAYERS
            && sequences.batch <= MEASURED_BATCH
            && sequences.steps <= MEASURED_STEPS
    }

    fn sizes(&self, sequences: &Sequences) -> Sizes {
        let row = |width: u64| width * element_bytes(self.data_type);
        let step = sequences.batch * row(self.hidden_size);
        Sizes {
            padded_input: sequences.padded_steps() * row(self.input_size),
            packed_input: sequences.all_steps * row(self.input_size),
            state: sequences.all_steps * row(self.hidden_size),
            padded_output: sequences.padded_steps() * row(self.output_size()),
            step,
            steps: self.directions * self.layers * step,
            output_steps: self.directions * self.layers * sequences.batch * row(self.output_size()),
        }
    }

    /// What a training pass keeps for its backward pass: gates and cell of all layers, and what goes from layer to layer.
    pub(super) fn reserve_bytes(&self, sequences: &Sequences) -> u64 {
        let sizes = self.sizes(sequences);
        let layers = self.layers * self.directions;
        let kept = match self.cell {
            LSTM => aligned(layers * 4 * sizes.state) + aligned(layers * sizes.state),
            GRU => aligned(layers * 6 * sizes.state),
            _ => aligned(layers * sizes.state),
        };
        let output = sequences.all_steps * self.output_size() * element_bytes(self.data_type);
        let projected = if self.is_projected() { aligned(layers * sizes.state) + aligned(layers * output) } else { 0 };
        let between = self.layers.saturating_sub(1) * self.directions;
        // A bit for each element that dropout may clear.
        let mask = (sequences.padded_steps() * self.output_size() * self.directions).div_ceil(8);
        let masks = if self.has_dropout { between * aligned(mask) } else { 0 };
        kept + projected + aligned(between * sizes.state) + masks + HEADER_BYTES
    }

    pub(super) fn workspace_bytes(&self, sequences: &Sequences, is_training: bool) -> u64 {
        let mut weights = 0;
        self.walk(&mut |_, _, is_bias, size| weights += if is_bias { 0 } else { size });
        let fixed = aligned(weights * element_bytes(self.data_type))
            + self.layers * self.directions * PRODUCTS_BYTES
            + HEADER_BYTES
            + if self.has_padding { aligned(8 * sequences.batch) } else { 0 };
        let sizes = self.sizes(sequences);
        let forward = self.forward_bytes(&sizes);
        fixed + if is_training { forward.max(self.backward_bytes(&sizes, sequences)) } else { forward }
    }

    /// The input, the output, and the gates of all steps.
    fn forward_bytes(&self, sizes: &Sizes) -> u64 {
        let gates = self.gates() * sizes.state;
        let turned = if self.is_persistent() { aligned(4 * gates) } else { 0 };
        // Two directions have a place for the masked input of a layer anyway.
        let between = match (self.directions, self.has_dropout) {
            (2, _) => aligned(4 * sizes.state),
            (_, true) => aligned(sizes.state),
            _ => 0,
        };
        self.padded_bytes(sizes)
            + aligned(self.directions * gates)
            + turned
            + between
            + self.projected_bytes(sizes)
            + self.steps_bytes(sizes, if self.is_persistent() { 2 } else { self.gates() }, 2)
    }

    /// Input and output with their gradients, and what becomes the gradients of the weights.
    fn backward_bytes(&self, sizes: &Sizes, sequences: &Sequences) -> u64 {
        let is_deep = self.layers > 1;
        let all_steps = self.directions * sizes.state;
        let at_once = sequences.steps_at_once();
        let states = match (self.is_persistent(), self.directions, is_deep) {
            (false, 1, true) => all_steps.min((at_once * self.layers + at_once.max(8)) * sizes.step),
            (_, _, true) => 2 * all_steps,
            _ => all_steps,
        };
        let persistent = if self.is_persistent() { self.persistent_bytes(sizes, sequences) } else { 0 };
        2 * self.padded_bytes(sizes)
            + aligned(self.directions * self.directions * sizes.state.max(sizes.packed_input))
            + aligned(states)
            + persistent
            + self.projected_bytes(sizes)
            + self.steps_bytes(sizes, if self.is_persistent() { 2 } else { 1 }, 4)
    }

    /// What the backward pass of the persistent kernels needs beside the rest.
    fn persistent_bytes(&self, sizes: &Sizes, sequences: &Sequences) -> u64 {
        let gates = match self.cell {
            LSTM => 4,
            GRU => 6,
            _ => 1,
        };
        let rows = (PERSISTENT_ROWS + sequences.batch) * self.hidden_size * element_bytes(self.data_type);
        aligned(gates * sizes.state) + aligned(rows.max(8 * sizes.state))
    }

    /// The input and the output without their padding, sorted by length: packed ones are used where they are.
    fn padded_bytes(&self, sizes: &Sizes) -> u64 {
        if self.has_padding { aligned(sizes.padded_input) + aligned(self.directions * sizes.padded_output) } else { 0 }
    }

    /// The states before their projection.
    fn projected_bytes(&self, sizes: &Sizes) -> u64 {
        if self.is_projected() { aligned(self.directions * sizes.state) } else { 0 }
    }

    /// What lasts one step, of all layers: `wide` hidden states, and `sorted` ones that come in or go out in another order.
    /// LSTM has as much for its cell.
    fn steps_bytes(&self, sizes: &Sizes, wide: u64, sorted: u64) -> u64 {
        let single = if self.has_padding { sorted } else { 0 };
        let hidden = aligned(wide * sizes.steps) + single * aligned(sizes.output_steps);
        let cell = if self.cell == LSTM { aligned(2 * sizes.steps) + single * aligned(sizes.steps) } else { 0 };
        let directions = match (self.directions, self.is_persistent()) {
            (2, true) => aligned(sizes.steps),
            (2, false) => aligned(2 * sizes.steps),
            _ => 0,
        };
        hidden + cell + directions
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BOTH_BIASES, HALF, PERSISTENT, tests::network};
    use super::*;
    use std::collections::HashMap;
    use std::ffi::c_int;

    fn dense(steps: u64, batch: u64) -> Sequences {
        Sequences { steps, batch, all_steps: steps * batch }
    }

    #[test]
    fn what_was_not_asked_of_a_card_is_an_estimate() {
        let network = network(LSTM, 16, 32, 2);
        assert!(network.is_in_measured_range(&dense(100, 512)));
        assert!(!network.is_in_measured_range(&dense(100, 513)));
        assert!(!network.is_in_measured_range(&dense(1001, 8)));
        let packed = Network { has_padding: false, ..network.clone() };
        assert!(!packed.is_in_measured_range(&dense(100, 8)));
        let deep = Network { layers: 5, ..network };
        assert!(!deep.is_in_measured_range(&dense(100, 8)));
    }

    #[test]
    fn sizes_are_those_of_a_card() {
        let sizes = |network: &Network, steps, batch| {
            let sequences = dense(steps, batch);
            (network.weight_bytes(), network.workspace_bytes(&sequences, true), network.reserve_bytes(&sequences))
        };
        let two_layers = network(LSTM, 512, 512, 2);
        assert_eq!(sizes(&two_layers, 32, 64), (16_809_984, 61_342_464, 46_137_600));
        let one_layer = network(LSTM, 256, 512, 1);
        assert_eq!(sizes(&one_layer, 50, 64), (6_307_840, 52_036_352, 32_768_256));
        let half = Network { data_type: HALF, ..one_layer.clone() };
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

    /// What a tagger of packed sentences must have got for its measured peak.
    #[test]
    fn packed_sequences_take_no_copies() {
        let tagger = Network { directions: 2, has_dropout: true, has_padding: false, ..network(GRU, 256, 512, 2) };
        let sequences = Sequences { steps: 120, batch: 32, all_steps: 2225 };
        assert_eq!(tagger.workspace_bytes(&sequences, true), 108_744_960);
        assert_eq!(tagger.reserve_bytes(&sequences), 119_460_096);
    }

    /// The network, its batch and what cuDNN said of it on an H200: workspace, reserve and weights.
    struct Asked {
        network: Network,
        sequences: Sequences,
        is_training: bool,
        said: (u64, u64, u64),
    }

    impl Asked {
        fn new(field: &HashMap<String, String>) -> Option<Self> {
            let number = |name: &str| field.get(name)?.parse::<u64>().ok();
            let cell = ["relu", "tanh", "lstm", "gru"].iter().position(|cell| *cell == field["mode"])? as c_int;
            let (steps, batch) = (number("T")?, number("B")?);
            Some(Self {
                network: Network {
                    algorithm: number("algo")? as c_int,
                    cell,
                    bias: BOTH_BIASES,
                    directions: number("bi")? + 1,
                    data_type: ["f32", "", "f16"].iter().position(|name| *name == field["dt"]).unwrap_or(9) as c_int,
                    input_size: number("I")?,
                    hidden_size: number("H")?,
                    projection_size: number("P")?,
                    layers: number("L")?,
                    has_dropout: field.get("drop")? != "0.0",
                    has_padding: true,
                },
                sequences: Sequences { steps, batch, all_steps: number("steps").unwrap_or(steps * batch) },
                is_training: number("train")? == 1,
                said: (number("work")?, number("reserve")?, number("weights")?),
            })
        }

        fn ours(&self) -> (u64, u64, u64) {
            let reserve = if self.is_training { self.network.reserve_bytes(&self.sequences) } else { 0 };
            (self.network.workspace_bytes(&self.sequences, self.is_training), reserve, self.network.weight_bytes())
        }
    }

    fn read(name: &str) -> String {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/h200/extra_plan/");
        std::fs::read_to_string(format!("{folder}{name}")).unwrap()
    }

    fn check(asked: impl Iterator<Item = HashMap<String, String>>, least: usize) {
        let mut seen = 0;
        for field in asked {
            let Some(asked) = Asked::new(&field) else { continue };
            assert_eq!(asked.ours(), asked.said, "{field:?}");
            seen += 1;
        }
        assert!(seen >= least, "{seen}");
    }

    #[test]
    fn every_dense_network_that_a_card_was_asked_about_is_exact() {
        let text = read("cudnn_sizes.jsonl");
        let rows = text.lines().map(|line| {
            let row: HashMap<String, serde_json::Value> = serde_json::from_str(line).unwrap();
            row.into_iter().map(|(name, value)| (name, value.to_string().replace('"', ""))).collect()
        });
        check(rows.filter(|row: &HashMap<String, String>| row.contains_key("mode")), 882);
    }

    #[test]
    fn every_random_network_that_a_card_was_asked_about_is_exact() {
        let text = read("cudnn_rnn.csv");
        let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        let row = |line: &str| {
            let fields = names.iter().zip(line.split(','));
            fields.map(|(name, value)| ((*name).to_owned(), value.to_owned())).collect()
        };
        check(text.lines().skip(1).map(row), 1490);
    }
}
