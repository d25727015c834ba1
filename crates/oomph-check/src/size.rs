//! What a finding is worth: how often something is paid, how much of it, and whether it is ever given back. The default
//! level of every finding follows from that, here and nowhere else.

use serde::Serialize;

use crate::finding::Level;

/// How often the memory is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Frequency {
    /// Once, or now and then: at start-up, when a checkpoint is loaded, when a cell is run.
    Once,
    /// In every epoch.
    Epoch,
    /// In every batch, or iteration.
    Batch,
}

/// How much is taken each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Amount {
    /// Nothing, a number in a tensor, the nodes of a graph.
    Small,
    /// What a batch takes: its data, or the model's outputs for it.
    Batch,
    /// What a model takes: its parameters, gradients or optimizer state.
    Model,
    /// What a forward pass saves for the backward pass.
    Activations,
}

/// What becomes of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Course {
    /// It is given back before long, and adds to the peak until then.
    Peak,
    /// It serves nothing: a saving that the code asks for does not happen, or no backward pass comes for what is saved.
    Waste,
    /// It stays, and each time adds to what is there: without end.
    Growth,
    /// The job ends with an error, or makes no headway any more.
    Failure,
}

/// The size class of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Size {
    /// How often it is paid.
    pub frequency: Frequency,
    /// How much each time.
    pub amount: Amount,
    /// What becomes of it.
    pub course: Course,
    /// The same as `amount` in bytes, where the code says the shapes.
    pub bytes: Option<u64>,
}

/// What is small in bytes: below a thousandth of a card of 16 GiB.
const SMALL_BYTES: u64 = 16 << 20;

impl Size {
    /// Something that is paid once.
    #[must_use]
    pub const fn once(amount: Amount) -> Self {
        Self { frequency: Frequency::Once, amount, course: Course::Peak, bytes: None }
    }

    /// Something that is paid in every epoch.
    #[must_use]
    pub const fn per_epoch(amount: Amount) -> Self {
        Self { frequency: Frequency::Epoch, ..Self::once(amount) }
    }

    /// Something that is paid in every batch.
    #[must_use]
    pub const fn per_batch(amount: Amount) -> Self {
        Self { frequency: Frequency::Batch, ..Self::once(amount) }
    }

    /// Not memory: the job ends, or hangs.
    #[must_use]
    pub const fn failure() -> Self {
        Self { course: Course::Failure, ..Self::once(Amount::Small) }
    }

    /// The same, without end.
    #[must_use]
    pub const fn growing(self) -> Self {
        Self { course: Course::Growth, ..self }
    }

    /// The same, serving nothing.
    #[must_use]
    pub const fn wasted(self) -> Self {
        Self { course: Course::Waste, ..self }
    }

    /// The same, of so many bytes each time.
    #[must_use]
    pub const fn of_bytes(self, bytes: u64) -> Self {
        Self { bytes: Some(bytes), ..self }
    }

    /// How much each time, by the bytes where they are known.
    #[must_use]
    pub fn magnitude(self) -> Amount {
        if self.bytes.is_some_and(|bytes| bytes < SMALL_BYTES) { Amount::Small } else { self.amount }
    }

    /// The level at which a finding of this size is reported unless somebody chose another: an error for what ends in out
    /// of memory, a warning for what costs at least a batch or a model, information below that. What is small but never
    /// stops growing, or never does what the code asks for, is a warning too.
    #[must_use]
    pub fn level(self) -> Level {
        let is_small = self.magnitude() == Amount::Small;
        match self.course {
            Course::Growth | Course::Waste if is_small || self.frequency == Frequency::Once => Level::Warning,
            Course::Failure | Course::Growth | Course::Waste => Level::Error,
            Course::Peak if is_small => Level::Info,
            Course::Peak => Level::Warning,
        }
    }

    /// The class in words: "activations in every batch, without end".
    #[must_use]
    pub fn words(self) -> String {
        let amount = match self.amount {
            Amount::Small => "little or no memory",
            Amount::Batch => "a batch of data or outputs",
            Amount::Model => "the size of a model",
            Amount::Activations => "saved activations",
        };
        let frequency = match self.frequency {
            Frequency::Once => "once",
            Frequency::Epoch => "in every epoch",
            Frequency::Batch => "in every batch",
        };
        match self.course {
            Course::Peak => format!("{amount}, {frequency}"),
            Course::Waste => format!("{amount}, {frequency}, to no use"),
            Course::Growth => format!("{amount}, {frequency}, without end"),
            Course::Failure => "the job fails or hangs".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_in_out_of_memory_is_an_error() {
        assert_eq!(Size::per_batch(Amount::Activations).growing().level(), Level::Error);
        assert_eq!(Size::per_batch(Amount::Batch).growing().level(), Level::Error);
        assert_eq!(Size::per_batch(Amount::Activations).wasted().level(), Level::Error);
        assert_eq!(Size::failure().level(), Level::Error);
    }

    #[test]
    fn what_costs_a_batch_or_a_model_is_a_warning() {
        for amount in [Amount::Batch, Amount::Model, Amount::Activations] {
            assert_eq!(Size::once(amount).level(), Level::Warning);
            assert_eq!(Size::per_batch(amount).level(), Level::Warning);
            assert_eq!(Size::once(amount).wasted().level(), Level::Warning);
        }
        assert_eq!(Size::per_batch(Amount::Small).growing().level(), Level::Warning);
        assert_eq!(Size::per_batch(Amount::Small).wasted().level(), Level::Warning);
    }

    #[test]
    fn what_is_small_is_information() {
        assert_eq!(Size::per_batch(Amount::Small).level(), Level::Info);
        assert_eq!(Size::per_batch(Amount::Activations).of_bytes(400 << 10).level(), Level::Info);
        assert_eq!(Size::per_batch(Amount::Activations).of_bytes(1 << 30).level(), Level::Warning);
    }
}
