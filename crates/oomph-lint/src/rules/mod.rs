//! One folder a rule: its page, its check, its example programs.

use crate::domain::Sure;
use crate::facts::Facts;
use crate::interp::{At, Trip};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Costs less than a batch: shown when asked for.
    Info,
    /// Costs at least a batch or a model.
    Warning,
    /// Ends in an out-of-memory error.
    Error,
}

/// What is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// The activations of a forward pass.
    Activations,
    /// The weights of a model.
    Model,
    /// A batch of data or outputs.
    Batch,
    /// A number, the nodes of a graph.
    Small,
}

/// How often that is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Often {
    /// Every iteration, without end.
    Iteration,
    /// Every epoch or call.
    Epoch,
    /// Once.
    Once,
}

impl Level {
    /// The level that follows from what something costs.
    #[must_use]
    pub fn of(amount: Amount, often: Often) -> Self {
        match (amount, often) {
            (Amount::Small, Often::Once) => Self::Info,
            (Amount::Activations | Amount::Batch | Amount::Model, Often::Iteration) => Self::Error,
            _ => Self::Warning,
        }
    }
}

/// What a rule found.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub at: At,
    pub amount: Amount,
    pub often: Often,
    pub message: String,
    /// Whether it rests on what a name means.
    pub is_hinted: bool,
}

impl Found {
    fn new(at: &At, amount: Amount, often: Often, message: impl Into<String>) -> Self {
        Self { at: at.clone(), amount, often, message: message.into(), is_hinted: false }
    }

    fn sure(mut self, sure: Sure) -> Self {
        self.is_hinted = sure < Sure::Yes;
        self
    }
}

/// A rule.
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// Its page, in Markdown.
    pub page: &'static str,
    check: fn(&Facts<'_>, &mut Vec<Found>),
}

impl Rule {
    pub(crate) fn run(&self, facts: &Facts<'_>) -> Vec<Found> {
        let mut found = Vec::new();
        (self.check)(facts, &mut found);
        found
    }
}

/// How often something is added around the innermost of loops.
fn often(facts: &Facts<'_>, loops: &[u32]) -> Often {
    let longest =
        loops.iter().filter(|number| !facts.is_open_loop(**number)).map(|number| facts.loop_facts(*number).trip).max();
    match longest {
        Some(Trip::Few) | None => Often::Epoch,
        Some(_) => Often::Iteration,
    }
}

macro_rules! rules {
    ($($folder:ident),* $(,)?) => {
        $(mod $folder;)*
        /// All rules, by name.
        pub static RULES: &[&Rule] = &[$(&$folder::RULE),*];
    };
}

rules!(
    activation_kept_on_module,
    checkpoint_dict_kept,
    create_graph_in_backward,
    eval_loop_without_no_grad,
    forward_hook_stores_output,
    frozen_or_teacher_forward_with_grad,
    gather_predictions_on_gpu,
    global_or_class_level_tensor_store,
    hidden_state_carried_across_batches,
    load_without_map_location,
    loss_accumulated_with_graph,
    losses_summed_then_one_backward,
    retain_graph_true,
    tensor_stored_in_container_with_graph,
);
