//! What a job is made of, as far as remedies care: told by its own process on the way.

use oomph_job::Watched;
use serde::Deserialize;
use serde_json::Value;

use crate::remedies::RemedyChoice;

/// A model that the script calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Model {
    /// The class of its outermost module.
    pub label: String,
    /// What stands before the paths below it where something was put around the model: `module.` of DDP.
    pub prefix: String,
    /// Samples in its first call: the first dimension of its first tensor.
    pub batch: u64,
    /// The paths of modules that come several times in a row: a transformer's layers. Where there are none, of runs of
    /// layers in plain sequences: `main.3:6` are those of `main` from 3 up to 6.
    pub blocks: Vec<String>,
    /// Projections onto a vocabulary.
    pub heads: Vec<Head>,
    /// The paths of layers that pass messages along the edges of a graph.
    pub message_layers: Vec<String>,
    /// Whether some layer mixes the samples of a batch.
    pub has_batch_norm: bool,
    /// The path of the part whose calls can be made with parts of a batch; empty where that is the model itself.
    pub divisible: Option<String>,
    /// Whether `torch.compile` stands around it.
    pub is_compiled: bool,
    /// Whether it was in training mode.
    pub is_training: bool,
}

impl Model {
    /// Whether a trace has one name for the modules of both: the model's class and the path.
    #[must_use]
    pub fn is_alike(&self, other: &Self) -> bool {
        (&self.label, &self.prefix) == (&other.label, &other.prefix)
    }

    /// Whether a module, by its path with its model's class before it, is the one at `path` of this model.
    #[must_use]
    pub fn is_at(&self, path: &str, module: &str) -> bool {
        let below = module.strip_prefix(&self.label).and_then(|rest| rest.strip_prefix('.'));
        let below = below.and_then(|below| below.strip_prefix(&self.prefix));
        below.and_then(|below| behind(path, below)) == Some("")
    }

    /// Whether a module, by its path in a trace, is the one at `path` of this model, or within it.
    #[must_use]
    pub fn holds(&self, path: &str, module: &str) -> bool {
        let module = module.strip_prefix(&self.label).and_then(|rest| rest.strip_prefix('.')).unwrap_or(module);
        let rest = module.strip_prefix(&self.prefix).and_then(|rest| behind(path, rest));
        rest.is_some_and(|rest| path.is_empty() || rest.is_empty() || rest.starts_with('.'))
    }
}

/// What follows the path of a block in that of a module: nothing where the module is the block, or a layer of the run.
fn behind<'a>(block: &str, module: &'a str) -> Option<&'a str> {
    let (sequence, layers) = block.rsplit_once('.').unwrap_or(("", block));
    let Some((first, end)) = layers.split_once(':') else { return module.strip_prefix(block) };
    let within = module.strip_prefix(sequence)?;
    let within = if sequence.is_empty() { within } else { within.strip_prefix('.')? };
    let layer = within.split('.').next()?;
    let run = first.parse::<usize>().ok()?..end.parse().ok()?;
    run.contains(&layer.parse().ok()?).then(|| &within[layer.len()..])
}

/// A projection onto a vocabulary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Head {
    /// Its path.
    pub path: String,
    /// Classes.
    pub out_features: u64,
    /// Width of what is projected.
    pub in_features: u64,
}

/// An optimizer that the script made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Optimizer {
    /// Its class.
    pub name: String,
    /// Whether its steps update tensors in groups, with temporaries as large as all parameters.
    pub has_large_temporaries: bool,
    /// The statement that makes it, where that is the user's.
    pub made_at: Option<MadeAt>,
}

/// A statement of the user's that makes an optimizer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct MadeAt {
    /// Its file.
    pub file: String,
    /// Its first line.
    pub first_line: usize,
    /// Its last line.
    pub last_line: usize,
    /// What the model is called there.
    pub model: Option<String>,
    /// What the optimizer is called from there on.
    pub optimizer: Option<String>,
}

/// What a process told about its script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// The models, in the order of their first calls.
    pub models: Vec<Model>,
    /// The optimizers.
    pub optimizers: Vec<Optimizer>,
    /// The batch sizes of its data loaders.
    pub loader_batches: Vec<u64>,
    /// Words for what the script does: `clips`, `scales`, `autocasts`, `keeps_outputs`.
    pub habits: Vec<String>,
}

impl Survey {
    /// Reads what was told; what cannot be read was not told.
    #[must_use]
    pub fn of(watched: &Watched) -> Self {
        let mut survey = Self::default();
        for (kind, value) in &watched.survey {
            survey.take(kind, value);
        }
        survey
    }

    fn take(&mut self, kind: &str, value: &Value) {
        match kind {
            "model" => self.models.extend(Model::deserialize(value).ok()),
            "optimizer" => self.optimizers.extend(Optimizer::deserialize(value).ok()),
            "loader" => self.loader_batches.extend(value.as_u64()),
            "habit" => self.habits.extend(value.as_str().map(str::to_owned)),
            _ => {}
        }
    }

    /// Whether its batches have as many samples as remedies would make parts of them.
    #[must_use]
    pub fn has_parts(&self, choices: &[RemedyChoice]) -> bool {
        choices.iter().filter_map(|choice| choice.number("parts")).all(|parts| parts <= self.largest_batch())
    }

    /// The samples of its largest batch.
    #[must_use]
    pub fn largest_batch(&self) -> u64 {
        let batches = self.models.iter().map(|model| model.batch).chain(self.loader_batches.iter().copied());
        batches.max().unwrap_or(0)
    }

    /// Whether the script does something.
    #[must_use]
    pub fn has_habit(&self, word: &str) -> bool {
        self.habits.iter().any(|habit| habit == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_known_with_and_without_their_model_before_them() {
        let model = Model { label: "Net".into(), prefix: "module.".into(), ..Model::default() };
        assert!(model.holds("blocks.1", "module.blocks.1") && model.holds("blocks.1", "Net.module.blocks.1.mlp"));
        assert!(model.holds("", "module.blocks.1"), "all that is in it");
        assert!(!model.holds("blocks.1", "module.blocks.10") && !model.holds("blocks.1", "blocks.1"));
        assert!(model.is_at("blocks.1", "Net.module.blocks.1") && !model.is_at("blocks.1", "Net.module.blocks.1.mlp"));
    }

    #[test]
    fn a_run_of_layers_holds_those_from_its_first_up_to_its_end() {
        let model = Model { label: "Net".into(), ..Model::default() };
        let held: Vec<usize> =
            (0..12).filter(|layer| model.holds("main.3:11", &format!("Net.main.{layer}.conv"))).collect();
        assert_eq!(held, (3..11).collect::<Vec<usize>>());
        assert!(model.is_at("main.3:6", "Net.main.5") && !model.is_at("main.3:6", "Net.main.5.conv"));
        assert!(model.is_at("0:2", "Net.1"), "of a model that is a sequence itself");
        assert!(!model.holds("main.3:6", "Net.mainly.4") && !model.holds("main.3:6", "Net.main"));
    }

    #[test]
    fn what_cannot_be_read_was_not_told() {
        let told = |kind: &str, value: Value| (kind.to_owned(), value);
        let survey = vec![
            told("model", serde_json::json!({ "label": "Net", "batch": 8, "blocks": ["a"], "new": 1 })),
            told("model", serde_json::json!(7)),
            told("optimizer", serde_json::json!({ "name": "AdamW", "has_large_temporaries": true })),
            told("habit", serde_json::json!("clips")),
            told("surprise", serde_json::json!(null)),
        ];
        let survey = Survey::of(&Watched { survey, ..Watched::default() });
        assert_eq!((survey.models.len(), survey.models[0].batch, survey.optimizers.len()), (1, 8, 1));
        let parts = |parts: u64| [RemedyChoice::new("micro_batches").with("parts", parts)];
        assert!(survey.has_parts(&parts(8)) && !survey.has_parts(&parts(16)) && survey.has_parts(&[]));
        assert!(survey.has_habit("clips") && !survey.has_habit("scales"));
    }
}
