//! What a watched process says about its run, beside the snapshot: a stream of facts, one JSON list a line.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::JobError;
pub use crate::host_facts::{HostFacts, HostLoader, HostMoment};

/// How the script ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// At its own end.
    End,
    /// After the steps or batches asked for.
    Stopped,
    /// When somebody pressed Ctrl-C.
    Interrupted,
    /// By PyTorch's `OutOfMemoryError`.
    Oom,
    /// By an exception of its own.
    Error,
    /// By `sys.exit` with a message.
    Exit,
    /// Not at all: it waited in a loop for a value that a hollow card never gives.
    Endless,
    /// It never began: torch is missing or of no use.
    Unusable,
    /// It trains without a card, and was given up to be run for the host's memory alone.
    NoCard,
    /// It was run for the host's memory alone, and uses a card.
    Card,
}

/// How the script ended, in words too.
#[derive(Clone, Debug, Deserialize)]
pub struct Outcome {
    /// Which end.
    pub kind: OutcomeKind,
    /// A word for programs where it is [`OutcomeKind::Unusable`].
    pub reason: Option<String>,
    /// One line.
    pub message: Option<String>,
    /// The script's own traceback.
    pub traceback: Option<String>,
}

/// What a value that nobody knows was taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Assumed {
    /// Zeros.
    Zeros,
    /// Every element of a mask picked, every element of its own kind: the most there can be.
    All,
    /// What the same line found before: as many elements as in the step before, or true as often.
    Earlier,
    /// Some elements of a mask true, some false.
    Some,
    /// Neither NaN nor infinite.
    Finite,
    /// What the script makes sure of: another answer raises.
    Held,
    /// Other random numbers than the card would draw.
    Drawn,
}

impl Assumed {
    /// Whether a script that works finds it so on a card, too.
    #[must_use]
    pub fn is_as_meant(self) -> bool {
        matches!(self, Self::Finite | Self::Held)
    }
}

/// A line of the user's.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Place {
    /// The file.
    pub file: String,
    /// Its line.
    pub line: u32,
}

/// A line that read values back from the card which nobody knows without one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Read {
    /// The user's file; empty where no line of the user's was on the stack.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// How often.
    pub count: u64,
    /// What they were taken for.
    pub assumed: Assumed,
    /// Whether something was decided by them: a size, an index, a branch.
    #[serde(default)]
    pub decides: bool,
}

/// What it took to work values out on the host that the card would compute.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct ValuesFacts {
    /// Whether gradients and updates of weights were worked out too.
    pub updates: bool,
    /// Operators that were written down.
    pub records: u64,
    /// Those of them that were worked out.
    pub worked_out: u64,
    /// Reads that were answered.
    pub answered: u64,
    /// What the host could not do, and how often.
    pub failed: BTreeMap<String, u64>,
    /// Reads that could not be answered because gradients and updates were left out.
    #[serde(default)]
    pub left_out: u64,
    /// How long that took.
    pub seconds: f64,
    /// How long writing down took.
    #[serde(default)]
    pub recording_seconds: f64,
    /// The most host memory that the process had.
    pub most_host_bytes: u64,
}

/// The line where a gradient scaler decides whether a step is taken, and what the card has held by then.
#[derive(Clone, Debug, Deserialize)]
pub struct Scaled {
    /// The user's file; empty where no line of the user's was on the stack.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// By device: the peaks before the first step, which stay as long as steps are skipped.
    pub devices: Vec<PeakFacts>,
}

/// The allocator's own peaks on one device.
#[derive(Clone, Debug, Deserialize)]
pub struct PeakFacts {
    /// CUDA ordinal.
    pub index: u32,
    /// Held by tensors.
    pub peak_allocated_bytes: u64,
    /// Taken from the driver.
    pub peak_reserved_bytes: u64,
}

/// What the allocator and the hollow card counted on one device.
#[derive(Clone, Debug, Deserialize)]
pub struct DeviceFacts {
    /// CUDA ordinal.
    pub index: u32,
    /// The allocator's own peak.
    pub peak_allocated_bytes: u64,
    /// The allocator's own peak.
    pub peak_reserved_bytes: u64,
    /// What the hollow card gave out at most, where it says.
    pub peak_device_bytes: Option<u64>,
    /// Of that, what NCCL's communicators had at most.
    #[serde(default)]
    pub nccl_bytes: u64,
    /// How often the allocator gave its cache back to the driver to serve a request.
    #[serde(default)]
    pub retries: u64,
}

/// A loop of the script that drives the job.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LoopFacts {
    /// The file it is in.
    pub file: String,
    /// The line it begins at.
    pub line: u32,
    /// What happens in it.
    pub kind: LoopKind,
    /// Iterations that were run, over all visits.
    pub seen: u64,
    /// Iterations that were run in the longest visit.
    #[serde(default)]
    pub longest_visit: u64,
    /// Iterations that were passed over to get to one that does something else.
    #[serde(default)]
    pub skipped: u64,
    /// Iterations it would have in one visit, where that is known.
    pub total: Option<u64>,
    /// How often the script came to it.
    pub visits: u64,
    /// How it ended.
    pub ended: LoopEnd,
    /// What every iteration leaves behind, where live memory grows.
    #[serde(default)]
    pub growth_bytes_per_iteration: u64,
    /// The same of the host's memory.
    #[serde(default)]
    pub host_growth_bytes_per_iteration: u64,
    /// The same of tensors on the CPU.
    #[serde(default)]
    pub host_tensor_growth_bytes_per_iteration: u64,
}

/// What happens in a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// Backward passes and optimizer steps.
    Training,
    /// Forward passes alone.
    Evaluation,
    /// Other loops.
    Epochs,
    /// Work on the card without a model.
    Other,
}

/// How a loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopEnd {
    /// By itself.
    OwnEnd,
    /// Its memory repeated, so the plan ended it.
    Repeats,
    /// Its memory grew steadily, so the plan ended it.
    Growth,
    /// Its memory neither repeated nor grew, so the plan ended it.
    NoTrend,
    /// By a `break` or `return` of the script.
    Break,
    /// By an exception.
    Raised,
    /// It was still running.
    Running,
}

impl LoopFacts {
    /// Whether the plan, not the script, ended it.
    #[must_use]
    pub fn is_ended_early(&self) -> bool {
        matches!(self.ended, LoopEnd::Repeats | LoopEnd::Growth | LoopEnd::NoTrend)
    }
}

/// An answer of the hollow card that is close, but not known to be right.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Estimate {
    /// In a sentence.
    pub what: String,
    /// How often.
    pub count: u64,
}

/// A moment the process noted: time, device, name, and `START` or `END`.
pub type MarkFact = (u64, u32, String, String);
/// A block the process knew: time, device, address, what it is for, and the number of the module it belongs to.
pub type TagFact = (u64, u32, u64, String, Option<usize>);

/// Everything one process told.
#[derive(Clone, Debug)]
pub struct Facts {
    /// What it told at its end.
    pub end: End,
    /// What it told on the way.
    pub watched: Watched,
}

/// What a process of a real run says of itself at its start.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ProcessFacts {
    /// Its number on this machine.
    pub pid: u32,
    /// Its command line.
    pub command: Vec<String>,
    /// Its number in a distributed job.
    pub rank: Option<u32>,
    /// The interpreter's version.
    pub python: String,
    /// torch's version.
    pub torch: Option<String>,
    /// The CUDA version torch was built for.
    pub cuda: Option<String>,
}

/// What a process tells while it runs: what its memory is for, and what it was doing.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// Steps and phases.
    pub marks: Vec<MarkFact>,
    /// Parameters, gradients, optimizer state and buffers.
    pub tags: Vec<TagFact>,
    /// Who started each backward pass: time and number of the stack.
    pub callers: Vec<(u64, usize)>,
    /// Stacks, innermost call first: function, file, line.
    pub stacks: Vec<Vec<(String, String, u32)>>,
    /// Modules by number: the class of the outermost module, and the path below it.
    pub modules: Vec<(String, String)>,
    /// Their numbers by where they lie in the process, where it told.
    pub module_pointers: BTreeMap<u64, usize>,
    /// Forward passes: time, and the number of the module that was called; none where one returned.
    pub calls: Vec<(u64, Option<usize>)>,
    /// What it said of itself, in a real run.
    pub process: ProcessFacts,
    /// What the user should know.
    pub notes: Vec<String>,
    /// How the allocator was configured, where it was not by default.
    pub allocator_conf: Option<String>,
    /// What the script is made of, where somebody asked: a word for what is told, and the details.
    pub survey: Vec<(String, Value)>,
    /// Arithmetic done so far at moments of the run, where somebody asked: time; in single precision, in TF32, in 16
    /// bits.
    pub work: Vec<(u64, [u64; 3])>,
    /// What remedies told.
    pub remedies: Vec<RemedyFact>,
}

/// What a remedy told of itself.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "(String, String, Value)")]
pub struct RemedyFact {
    /// Its name.
    pub name: String,
    /// `applied`, `refused` or `note`.
    pub kind: String,
    /// A sentence, or what it was applied to.
    pub details: Value,
}

impl From<(String, String, Value)> for RemedyFact {
    fn from((name, kind, details): (String, String, Value)) -> Self {
        Self { name, kind, details }
    }
}

impl RemedyFact {
    /// The details where they are a sentence.
    #[must_use]
    pub fn text(&self) -> &str {
        self.details.as_str().unwrap_or_default()
    }
}

/// What a process tells at its end.
#[derive(Clone, Debug, Deserialize)]
pub struct End {
    /// How the script ended.
    pub outcome: Outcome,
    /// Whether it was the job's first process.
    #[serde(default)]
    pub is_first: bool,
    /// Its number on this machine.
    #[serde(default)]
    pub pid: u32,
    /// Its command line.
    #[serde(default)]
    pub command: Vec<String>,
    /// Its number in a distributed job.
    #[serde(default)]
    pub rank: Option<u32>,
    /// The line that keeps the host's memory growing, where the run was about that and found it.
    #[serde(default)]
    pub kept_at: Option<Place>,
    /// The interpreter's version.
    #[serde(default)]
    pub python: String,
    /// torch's version, if it was imported.
    #[serde(default)]
    pub torch: Option<String>,
    /// The CUDA version torch was built for.
    #[serde(default)]
    pub cuda: Option<String>,
    /// What the reader of the plan should know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Optimizer steps done.
    #[serde(default)]
    pub steps: u32,
    /// Optimizers made.
    #[serde(default)]
    pub optimizers: u32,
    /// Outermost calls of modules.
    #[serde(default)]
    pub batches: u32,
    /// Where values were read back, the most frequent first.
    #[serde(default)]
    pub reads: Vec<Read>,
    /// What values took that were worked out, in a run that does so.
    #[serde(default)]
    pub values: Option<ValuesFacts>,
    /// Where a gradient scaler decides about steps, if one does.
    #[serde(default)]
    pub scaled: Option<Scaled>,
    /// The loops that drive the job, in the order in which they were first met.
    #[serde(default)]
    pub loops: Vec<LoopFacts>,
    /// Loops that were ended before their own end, the latest first: what the script raised may come from that.
    #[serde(default)]
    pub ended_early: Vec<Place>,
    /// Whether CUDA was used at all.
    #[serde(default)]
    pub used_cuda: bool,
    /// The host's memory, where it was counted.
    #[serde(default)]
    pub host: Option<HostFacts>,
    /// Loaders with workers.
    #[serde(default)]
    pub loaders: Vec<HostLoader>,
    /// By device.
    #[serde(default)]
    pub devices: Vec<DeviceFacts>,
    /// Calls the hollow card answered without a model behind them, by name.
    #[serde(default)]
    pub unmodelled: BTreeMap<String, u64>,
    /// Calls the hollow card answered by an estimate.
    #[serde(default)]
    pub estimates: Vec<Estimate>,
    /// Sizes of workspaces that cuDNN's convolutions may have asked for.
    #[serde(default)]
    pub workspaces: Vec<u64>,
}

impl Facts {
    /// Reads what a process wrote; none if it has not told its end.
    ///
    /// # Errors
    /// If the file cannot be read, or says what no version of this package says.
    pub fn read(path: &Path) -> Result<Option<Self>, JobError> {
        let text = std::fs::read_to_string(path)?;
        let (watched, end) = Watched::of_lines(text.lines())?;
        Ok(end.map(|end| Self { end, watched }))
    }
}

impl Watched {
    /// Reads a stream of facts, and its end if that was told.
    ///
    /// # Errors
    /// If a line says what no version of this package says.
    pub fn of_lines<'a>(lines: impl Iterator<Item = &'a str>) -> Result<(Self, Option<End>), JobError> {
        let (mut told, mut end) = (Self::default(), None);
        for line in lines {
            // The last line of a process that was killed may be cut.
            if let Ok(Value::Array(fact)) = serde_json::from_str(line) {
                told.take(fact, &mut end)?;
            }
        }
        Ok((told, end))
    }

    /// A module's number, the class of its model, its path and, in a real run, where it lies.
    fn take_module(&mut self, mut fact: Vec<Value>) -> Result<(), serde_json::Error> {
        let pointer = (fact.len() > 3).then(|| fact.pop()).flatten();
        let (number, label, path): (u32, String, String) = serde_json::from_value(Value::Array(fact))?;
        let number = number as usize;
        if let Some(pointer) = pointer.and_then(|pointer| pointer.as_u64()) {
            self.module_pointers.insert(pointer, number);
        }
        // Numbers are given in order, each once or, for another model of the same class, again.
        if number == self.modules.len() {
            self.modules.push((label, path));
        }
        Ok(())
    }

    /// Takes one fact: its kind and its values.
    fn take(&mut self, mut fact: Vec<Value>, end: &mut Option<End>) -> Result<(), serde_json::Error> {
        if fact.is_empty() {
            return Ok(());
        }
        let kind = fact.remove(0);
        let whole = |fact: Vec<Value>| Value::Array(fact);
        let only = |mut fact: Vec<Value>| fact.pop().unwrap_or_default();
        match kind.as_str().unwrap_or_default() {
            "mark" => self.marks.push(serde_json::from_value(whole(fact))?),
            "tag" => self.tags.push(serde_json::from_value(whole(fact))?),
            "caller" => self.callers.push(serde_json::from_value(whole(fact))?),
            "stacks" => self.stacks = serde_json::from_value(only(fact))?,
            "module" => self.take_module(fact)?,
            "calls" => {
                let flat: Vec<i64> = serde_json::from_value(only(fact))?;
                let pairs = flat.chunks_exact(2);
                self.calls.extend(pairs.map(|pair| (pair[0].cast_unsigned(), usize::try_from(pair[1]).ok())));
            }
            "end" => *end = Some(serde_json::from_value(only(fact))?),
            "exit" => {
                if let Some(host) = end.as_mut().and_then(|end| end.host.as_mut()) {
                    host.exit_resident_bytes = serde_json::from_value(only(fact))?;
                }
            }
            "process" => self.process = serde_json::from_value(only(fact))?,
            "note" => self.notes.extend(only(fact).as_str().map(str::to_owned)),
            "survey" => self.survey.push(serde_json::from_value(whole(fact))?),
            "remedy" => self.remedies.push(serde_json::from_value(whole(fact))?),
            "work" => {
                let flat: Vec<u64> = serde_json::from_value(only(fact))?;
                self.work.extend(flat.chunks_exact(4).map(|part| (part[0], [part[1], part[2], part[3]])));
            }
            "settings" => self.allocator_conf = only(fact).as_str().map(str::to_owned),
            // Loops are told again at the end; what a newer package tells is none of ours.
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_read_up_to_where_it_was_cut() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("facts.jsonl");
        let lines = [
            r#"["module", 0, "Net", ""]"#,
            r#"["module", 1, "Net", "layers.0"]"#,
            r#"["calls", [10, 0, 11, 1, 12, -1, 13, -1]]"#,
            r#"["mark", 9, 0, "step 1", "START"]"#,
            r#"["tag", 14, 0, 4096, "parameter", 1]"#,
            r#"["surprise", 1]"#,
        ];
        std::fs::write(&path, lines.join("\n") + "\n[\"mark\", 1").expect("written");
        assert!(Facts::read(&path).expect("read").is_none(), "it has not told its end");
        let end = r#"["end", {"outcome": {"kind": "end"}, "used_cuda": true}]"#;
        std::fs::write(&path, lines.join("\n") + "\n" + end + "\n").expect("written");
        let facts = Facts::read(&path).expect("read").expect("whole");
        let watched = facts.watched;
        assert_eq!(watched.calls, [(10, Some(0)), (11, Some(1)), (12, None), (13, None)]);
        assert_eq!((watched.marks.len(), watched.tags.len(), watched.modules.len()), (1, 1, 2));
    }
}
