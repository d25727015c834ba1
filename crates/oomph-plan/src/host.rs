//! What the real job would take of the host's memory, from what a plan counted and measured.
//!
//! | part | how it is known |
//! |---|---|
//! | tensors on the CPU, pinned memory | counted with every block; a plan may leave them unfilled, the job fills them |
//! | libraries, Python's objects | resident in the plan's own process, less what oomph takes there |
//! | workers | resident in the plan's own; what they copy in the rest of an epoch follows from the data set's objects |
//! | batches in flight | the size of a batch, as often as the loader has them prepared ahead |
//! | what loops keep | what each iteration was seen to keep, as often as the loop has iterations |
//! | end of the process | measured once libraries have cleaned up, behind the last line of Python; workers are gone by then |
//! | CUDA | an estimate: what the context, its libraries and kernels take of the host |

use std::collections::BTreeMap;

use oomph_job::facts::{HostFacts, HostLoader, LoopFacts, LoopKind, Place};
use oomph_job::host::Beside;
use oomph_job::{Facts, Watched};

/// What a CUDA context with its libraries and the kernels of a training job takes of the host: on an H200 with PyTorch
/// 2.11, 0.14 GB with one kernel, 0.5 GB with products and convolutions, 0.8 GB with a transformer's training.
const CUDA_BYTES: u64 = 800 << 20;
/// What the history of a plan takes a block that is allocated or given back.
const HISTORY_BYTES: u64 = 530;
/// What the system and other programs have of a machine, in hundredths.
const SYSTEM_PERCENT: u64 = 5;
/// Memory that machines have, in GiB.
const MACHINES_GIB: [u64; 12] = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

/// What host memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostCategory {
    /// Weights and buffers of models on the CPU.
    Parameters,
    /// Their gradients.
    Gradients,
    /// What optimizers keep of them.
    Optimizer,
    /// Other tensors on the CPU: activations, data, results.
    Tensors,
    /// Pinned memory.
    Pinned,
    /// What loops keep in iterations that the plan has not run.
    Kept,
    /// The interpreter and what the script imports.
    Imports,
    /// Everything else in the process: Python's objects, arrays, what the C library has not given back.
    Objects,
    /// What workers have that they do not share.
    Workers,
    /// Batches that workers have prepared ahead.
    Prefetched,
    /// What CUDA takes of the host.
    Cuda,
    /// Libraries that are read when the process ends, beyond what was given back by then.
    Exit,
}

impl HostCategory {
    /// As tables and JSON call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::Gradients => "gradients",
            Self::Optimizer => "optimizer",
            Self::Tensors => "tensors",
            Self::Pinned => "pinned",
            Self::Kept => "kept",
            Self::Imports => "imports",
            Self::Objects => "objects",
            Self::Workers => "workers",
            Self::Prefetched => "prefetched",
            Self::Cuda => "cuda",
            Self::Exit => "exit",
        }
    }

    /// Whether the figure is no more than an estimate.
    #[must_use]
    pub fn is_estimate(self) -> bool {
        self == Self::Cuda
    }

    /// In words, for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Parameters => "parameters and buffers on the CPU",
            Self::Gradients => "gradients on the CPU",
            Self::Optimizer => "optimizer state on the CPU",
            Self::Tensors => "other tensors on the CPU",
            Self::Pinned => "pinned memory",
            Self::Kept => "kept by the rest of a loop",
            Self::Imports => "Python and what the script imports",
            Self::Objects => "Python's objects, arrays, the rest of the heap",
            Self::Workers => "workers",
            Self::Prefetched => "batches prepared ahead",
            Self::Cuda => "CUDA's context and libraries (estimate)",
            Self::Exit => "libraries that end with the process",
        }
    }
}

/// A loop that leaves host memory behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostGrowth {
    /// The file of the loop.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// What each iteration leaves behind.
    pub bytes_per_iteration: u64,
    /// Of that, tensors on the CPU.
    pub tensor_bytes_per_iteration: u64,
    /// Iterations that the loop has, where that is known.
    pub total_iterations: Option<u64>,
    /// Iterations that the plan has run.
    pub seen_iterations: u64,
    /// The line that keeps it, where that was found out.
    pub kept_at: Option<Place>,
}

/// The host's memory at its fullest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostPlan {
    /// All processes of the job on one machine, pages that they share counted once.
    pub peak_bytes: u64,
    /// One process of the job, without its workers.
    pub process_bytes: u64,
    /// The most that tensors on the CPU hold in it.
    pub tensor_bytes: u64,
    /// The most that is pinned in it.
    pub pinned_bytes: u64,
    /// What [`Self::peak_bytes`] is made of; those that are nothing are left out.
    pub categories: Vec<(HostCategory, u64)>,
    /// Workers that run at once, of one process.
    pub workers: u32,
    /// Processes of the job on one machine.
    pub processes: u32,
    /// The loop that keeps most.
    pub growth: Option<HostGrowth>,
}

impl HostPlan {
    /// Of one process of a plan, with those that ran beside it, where the job has so many of them on a machine; none
    /// where nothing was counted.
    #[must_use]
    pub fn of(facts: &Facts, beside: Beside, processes: u32, events: u64) -> Option<Self> {
        let host = facts.end.host.as_ref()?;
        let growth = largest_growth(&facts.end.loops);
        let mut sums = of_process(host, &facts.watched, facts.end.used_cuda, events);
        add(&mut sums, HostCategory::Kept, growth.as_ref().map_or(0, HostGrowth::still_to_come_bytes));
        let process_bytes: u64 = sums.values().sum();
        let loaders = &facts.end.loaders;
        let more = |loader: &HostLoader| {
            u64::from(loader.workers) * loader.copied_bytes.saturating_sub(loader.seen_copied_bytes)
        };
        let copied_later = loaders.iter().map(more).max().unwrap_or(0);
        // The last look at workers may be earlier than the last batch that they prepared: they have what they copied at least.
        let copied = loaders.iter().map(|loader| u64::from(loader.workers) * loader.copied_bytes).max().unwrap_or(0);
        let ahead =
            |loader: &HostLoader| u64::from(loader.workers) * u64::from(loader.prefetch_factor) * loader.batch_bytes;
        let prefetched = loaders.iter().map(ahead).max().unwrap_or(0);
        add(&mut sums, HostCategory::Workers, copied.max(beside.bytes + copied_later));
        add(&mut sums, HostCategory::Prefetched, prefetched.max(beside.shared_memory_bytes));
        let many = u64::from(processes.max(1));
        // Libraries are read from the same files.
        let shared_bytes = (many - 1) * host.file_bytes.min(sums.get(&HostCategory::Imports).copied().unwrap_or(0));
        let mut categories: Vec<(HostCategory, u64)> =
            sums.into_iter().map(|(category, bytes)| (category, bytes * many)).collect();
        for (_, bytes) in categories.iter_mut().filter(|(category, _)| *category == HostCategory::Imports) {
            *bytes -= shared_bytes;
        }
        let exit_bytes = exit_beyond(host, &categories);
        categories.push((HostCategory::Exit, exit_bytes));
        categories.retain(|(_, bytes)| *bytes > 0);
        Some(Self {
            peak_bytes: categories.iter().map(|(_, bytes)| bytes).sum(),
            process_bytes: process_bytes + exit_bytes_of(host),
            tensor_bytes: host.tensor_peak_bytes + growth.as_ref().map_or(0, HostGrowth::tensors_to_come_bytes),
            pinned_bytes: host.pinned_peak_bytes,
            categories,
            workers: loaders.iter().map(|loader| loader.workers).max().unwrap_or(0),
            processes: processes.max(1),
            growth,
        })
    }

    /// Whether a machine with so much memory has room for it.
    #[must_use]
    pub fn fits(&self, machine_bytes: u64) -> bool {
        self.peak_bytes <= usable_bytes(machine_bytes)
    }

    /// The smallest of the usual machines that has room for it.
    #[must_use]
    pub fn smallest_machine_bytes(&self) -> Option<u64> {
        MACHINES_GIB.into_iter().map(|gib| gib << 30).find(|bytes| self.fits(*bytes))
    }

    /// Iterations of the loop that keeps most until a machine with so much memory is full; none where nothing grows.
    #[must_use]
    pub fn runs_out_after(&self, machine_bytes: u64) -> Option<u64> {
        let growth = self.growth.as_ref()?;
        let seen_bytes = self.peak_bytes - growth.still_to_come_bytes() * u64::from(self.processes);
        let each = growth.bytes_per_iteration * u64::from(self.processes);
        Some(growth.seen_iterations + usable_bytes(machine_bytes).saturating_sub(seen_bytes) / each.max(1))
    }
}

impl HostGrowth {
    fn left_iterations(&self) -> u64 {
        self.total_iterations.unwrap_or(0).saturating_sub(self.seen_iterations)
    }

    fn still_to_come_bytes(&self) -> u64 {
        self.left_iterations().saturating_mul(self.bytes_per_iteration)
    }

    fn tensors_to_come_bytes(&self) -> u64 {
        self.left_iterations().saturating_mul(self.tensor_bytes_per_iteration)
    }
}

/// What the system leaves of a machine.
fn usable_bytes(machine_bytes: u64) -> u64 {
    machine_bytes - machine_bytes / 100 * SYSTEM_PERCENT
}

fn add(sums: &mut BTreeMap<HostCategory, u64>, category: HostCategory, bytes: u64) {
    *sums.entry(category).or_default() += bytes;
}

/// The process that does the work.
fn of_process(host: &HostFacts, watched: &Watched, used_cuda: bool, events: u64) -> BTreeMap<HostCategory, u64> {
    let mut sums = BTreeMap::new();
    let history_bytes = if used_cuda { events * HISTORY_BYTES } else { 0 };
    let told_bytes = watched.calls.len() as u64 * 16;
    let own_bytes = host.own_bytes + history_bytes + told_bytes;
    let whole_bytes = whole(host).saturating_sub(own_bytes);
    let mut left = whole_bytes;
    let mut take = |category: HostCategory, bytes: u64| {
        let taken = bytes.min(left);
        left -= taken;
        add(&mut sums, category, taken);
        taken
    };
    take(HostCategory::Pinned, host.pinned_peak_bytes);
    let tagged = |name: &str| host.categories.get(name).copied().unwrap_or(0);
    let mut tensors = host.tensor_peak_bytes;
    for (category, names) in [
        (HostCategory::Parameters, &["parameter", "buffer"][..]),
        (HostCategory::Gradients, &["gradient"]),
        (HostCategory::Optimizer, &["optimizer_state"]),
    ] {
        let bytes = names.iter().map(|name| tagged(name)).sum::<u64>().min(tensors);
        tensors -= take(category, bytes);
    }
    take(HostCategory::Tensors, tensors);
    take(HostCategory::Imports, host.imports_bytes.unwrap_or(host.file_bytes).saturating_sub(host.own_bytes));
    let rest = left;
    add(&mut sums, HostCategory::Objects, rest);
    if used_cuda {
        add(&mut sums, HostCategory::Cuda, CUDA_BYTES);
    }
    sums
}

/// What the process of the real job would have resident at its fullest, with what oomph takes in the plan's.
fn whole(host: &HostFacts) -> u64 {
    if host.is_filled {
        return host.most_resident_bytes;
    }
    let moment = host.whole.resident_bytes + host.whole.unfilled_bytes;
    // Between two looks tensors may have held more: the rest of the process hardly did.
    let fullest = &host.fullest;
    let counted_bytes = fullest.tensor_bytes + fullest.pinned_bytes;
    let rest_bytes = (fullest.resident_bytes + fullest.unfilled_bytes).saturating_sub(counted_bytes);
    moment.max(rest_bytes + host.counted_peak_bytes).max(host.most_resident_bytes)
}

/// By how much the end of the process exceeds all that it had before.
fn exit_bytes_of(host: &HostFacts) -> u64 {
    if host.is_filled { host.exit_resident_bytes.saturating_sub(whole(host)) } else { 0 }
}

/// The same beside workers and what they prepared, which are gone by then. Pages of files: processes of a machine share them.
fn exit_beyond(host: &HostFacts, categories: &[(HostCategory, u64)]) -> u64 {
    let is_gone = |category: HostCategory| matches!(category, HostCategory::Workers | HostCategory::Prefetched);
    let gone = categories.iter().filter(|(category, _)| is_gone(*category)).map(|(_, bytes)| bytes);
    exit_bytes_of(host).saturating_sub(gone.sum())
}

/// The loop that keeps most of the host's memory by its end, or by each iteration where nobody knows its length.
fn largest_growth(loops: &[LoopFacts]) -> Option<HostGrowth> {
    // What a loop over loops keeps is what they keep.
    let growing = loops.iter().filter(|part| part.host_growth_bytes_per_iteration > 0 && part.kind != LoopKind::Epochs);
    let found = growing.filter(|part| part.is_ended_early()).map(|part| HostGrowth {
        file: part.file.clone(),
        line: part.line,
        bytes_per_iteration: part.host_growth_bytes_per_iteration,
        tensor_bytes_per_iteration: part.host_tensor_growth_bytes_per_iteration,
        total_iterations: part.total,
        seen_iterations: part.longest_visit,
        kept_at: None,
    });
    found.max_by_key(|growth| (growth.still_to_come_bytes(), growth.bytes_per_iteration))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const MIB: u64 = 1 << 20;

    fn facts(mut end: Value) -> Facts {
        end["outcome"] = json!({ "kind": "end" });
        Facts { end: serde_json::from_value(end).expect("facts"), watched: Watched::default() }
    }

    fn of(end: Value, beside: Beside, processes: u32) -> HostPlan {
        HostPlan::of(&facts(end), beside, processes, 0).expect("something was counted")
    }

    fn part(plan: &HostPlan, category: HostCategory) -> u64 {
        plan.categories.iter().find(|(known, _)| *known == category).map_or(0, |(_, bytes)| *bytes)
    }

    #[test]
    fn what_a_plan_left_unfilled_is_filled_by_the_job() {
        let moment = json!({ "resident_bytes": 700 * MIB, "unfilled_bytes": 900 * MIB, "tensor_bytes": 1000 * MIB });
        let plan = of(
            json!({ "used_cuda": true, "host": {
                "tensor_peak_bytes": 1024 * MIB, "counted_peak_bytes": 1024 * MIB, "whole": moment, "fullest": moment,
                "most_resident_bytes": 710 * MIB, "own_bytes": 20 * MIB, "imports_bytes": 520 * MIB } }),
            Beside::default(),
            1,
        );
        // 600 MiB of the rest, with tensors at their most, less what is oomph's.
        assert_eq!(plan.process_bytes, (600 + 1024 - 20) * MIB + CUDA_BYTES);
        assert_eq!((plan.tensor_bytes, part(&plan, HostCategory::Imports)), (1024 * MIB, 500 * MIB));
        assert_eq!(plan.peak_bytes, plan.categories.iter().map(|(_, bytes)| bytes).sum::<u64>());
    }

    #[test]
    fn workers_copy_the_rest_of_the_data_set_and_have_batches_ahead() {
        let plan = of(
            json!({ "host": { "is_filled": true, "most_resident_bytes": 1000 * MIB },
                "loaders": [{ "workers": 4, "prefetch_factor": 2, "batch_bytes": 8 * MIB, "object_bytes": 300 * MIB,
                              "copied_bytes": 300 * MIB, "seen_copied_bytes": 100 * MIB }] }),
            Beside { processes: 4, bytes: 640 * MIB, shared_memory_bytes: 16 * MIB },
            1,
        );
        assert_eq!(part(&plan, HostCategory::Workers), (640 + 4 * 200) * MIB);
        assert_eq!(part(&plan, HostCategory::Prefetched), 64 * MIB);
        assert_eq!((plan.process_bytes, plan.workers), (1000 * MIB, 4));
    }

    #[test]
    fn workers_have_what_they_copied_however_early_they_were_looked_at() {
        let end = json!({ "host": { "is_filled": true, "most_resident_bytes": 1000 * MIB },
            "loaders": [{ "workers": 2, "prefetch_factor": 2, "batch_bytes": 0, "object_bytes": 300 * MIB,
                          "copied_bytes": 300 * MIB, "seen_copied_bytes": 300 * MIB }] });
        let looked_at = |bytes: u64| {
            let beside = Beside { processes: 2, bytes, shared_memory_bytes: 0 };
            part(&of(end.clone(), beside, 1), HostCategory::Workers)
        };
        assert_eq!(looked_at(50 * MIB), 600 * MIB, "before they had copied anything");
        assert_eq!(looked_at(640 * MIB), 640 * MIB, "with what else they have");
    }

    #[test]
    fn libraries_are_read_when_the_process_ends_and_workers_are_gone_by_then() {
        let host = json!({ "is_filled": true, "most_resident_bytes": 800 * MIB, "exit_resident_bytes": 930 * MIB });
        let alone = of(json!({ "host": host }), Beside::default(), 1);
        assert_eq!((alone.peak_bytes, alone.process_bytes), (930 * MIB, 930 * MIB));
        let beside = |mib: u64| Beside { processes: 2, bytes: mib * MIB, shared_memory_bytes: 0 };
        let few = of(json!({ "host": host }), beside(100), 1);
        assert_eq!(
            (few.peak_bytes, few.process_bytes, part(&few, HostCategory::Exit)),
            (930 * MIB, 930 * MIB, 30 * MIB)
        );
        let many = of(json!({ "host": host }), beside(300), 1);
        assert_eq!((many.peak_bytes, part(&many, HostCategory::Exit)), (1100 * MIB, 0));
    }

    #[test]
    fn what_a_loop_keeps_is_counted_to_its_end() {
        let part_of_loop = |total: Option<u64>| {
            json!([{ "file": "train.py", "line": 7, "kind": "training", "seen": 12, "longest_visit": 12, "total": total,
                     "visits": 1, "ended": "growth", "host_growth_bytes_per_iteration": 2 * MIB }])
        };
        let host = json!({ "is_filled": true, "most_resident_bytes": 1024 * MIB });
        let known = of(json!({ "host": host, "loops": part_of_loop(Some(112)) }), Beside::default(), 1);
        assert_eq!(part(&known, HostCategory::Kept), 200 * MIB);
        assert_eq!(known.runs_out_after(2048 * MIB).expect("it grows"), 12 + (2048 * 95 / 100 - 1024) / 2);
        let unknown = of(json!({ "host": host, "loops": part_of_loop(None) }), Beside::default(), 1);
        assert_eq!((unknown.peak_bytes, unknown.growth.map(|growth| growth.line)), (1024 * MIB, Some(7)));
    }

    #[test]
    fn the_smallest_machine_leaves_room_for_the_system() {
        let plan = |mib: u64| HostPlan { peak_bytes: mib * MIB, ..HostPlan::default() };
        assert_eq!(plan(7000).smallest_machine_bytes(), Some(8 << 30));
        assert_eq!(plan(8000).smallest_machine_bytes(), Some(16 << 30));
        assert!(plan(8000).fits(16 << 30) && !plan(8000).fits(8 << 30));
    }

    #[test]
    fn processes_of_a_machine_share_their_libraries() {
        let host = json!({ "is_filled": true, "most_resident_bytes": 900 * MIB, "file_bytes": 300 * MIB,
                           "imports_bytes": 500 * MIB });
        let plan = of(json!({ "host": host }), Beside::default(), 4);
        assert_eq!(plan.peak_bytes, (4 * 900 - 3 * 300) * MIB);
        assert_eq!(plan.process_bytes, 900 * MIB);
    }
}
