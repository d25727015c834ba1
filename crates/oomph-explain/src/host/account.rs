//! Who held how much of the machine's memory: for the account at a job's end.

use oomph_trace::host::{HostHistory, HostLimits, HostProcess, HostRole};

use super::growth::{HostGrowth, growth_of};

/// One row: a process, or several of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRow {
    /// What they are for.
    pub role: HostRole,
    /// The pid, where it is one process.
    pub pid: Option<u32>,
    /// The name, where it is one process.
    pub name: Option<String>,
    /// How many processes.
    pub count: usize,
    /// The most that any one of them was seen to hold in resident bytes.
    pub peak_resident_bytes: u64,
    /// The most they held together, where pages that processes share count in parts.
    pub peak_proportional_bytes: u64,
    /// The most they held together that no other process shares.
    pub peak_private_bytes: u64,
    /// How their heaps grew: of several, the one that rose most.
    pub growth: HostGrowth,
}

/// Host memory of a whole job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAccount {
    /// The most that all processes held together: proportional bytes; resident ones where no others could be read.
    pub peak_bytes: u64,
    /// When resident memory was highest, in milliseconds since the job began.
    pub peak_ms: u64,
    /// The most pinned memory that PyTorch held.
    pub pinned_bytes: u64,
    /// What the machine and the cgroup allow.
    pub limits: HostLimits,
    /// Processes of the job's cgroup that the kernel killed for memory meanwhile.
    pub oom_kills: u64,
    /// The main process, the ranks, the workers together, all others together.
    pub rows: Vec<HostRow>,
}

impl HostAccount {
    /// The account of a history.
    #[must_use]
    pub fn of(history: &HostHistory) -> Self {
        let peaks = history.peaks();
        let (before, after) = (history.before(), history.after());
        let counted = after.cgroup_oom_kills.zip(before.cgroup_oom_kills).or(after.oom_kills.zip(before.oom_kills));
        Self {
            peak_bytes: if peaks.proportional_bytes > 0 { peaks.proportional_bytes } else { peaks.resident_bytes },
            peak_ms: peaks.time_ms,
            pinned_bytes: peaks.pinned_bytes,
            limits: history.limits().clone(),
            oom_kills: counted.map_or(0, |(after, before)| after.saturating_sub(before)),
            rows: rows(history),
        }
    }
}

fn rows(history: &HostHistory) -> Vec<HostRow> {
    let of = |wanted: fn(HostRole) -> bool| -> Vec<&HostProcess> {
        history.processes().filter(|process| wanted(process.role)).collect()
    };
    let single = of(|role| matches!(role, HostRole::Main | HostRole::Rank(_)));
    let mut rows: Vec<HostRow> = single.iter().map(|process| row(history, &[process])).collect();
    let groups: [fn(HostRole) -> bool; 3] =
        [|role| role == HostRole::Worker, |role| role == HostRole::Forked, |role| role == HostRole::Other];
    rows.extend(groups.into_iter().map(of).filter(|group| !group.is_empty()).map(|group| row(history, &group)));
    rows
}

/// One row for processes of a kind; `group` is not empty.
fn row(history: &HostHistory, group: &[&HostProcess]) -> HostRow {
    let alone = (group.len() == 1).then(|| group[0]);
    let mut most = HostRow {
        role: group[0].role,
        pid: alone.map(|process| process.pid),
        name: alone.map(|process| process.name.clone()),
        count: most_at_once(history, group),
        peak_resident_bytes: group.iter().map(|process| process.peaks.resident_bytes).max().unwrap_or(0),
        peak_proportional_bytes: alone.map_or(0, |process| process.peaks.proportional_bytes),
        peak_private_bytes: alone.map_or(0, |process| process.peaks.private_bytes),
        growth: group
            .iter()
            .map(|process| growth_of(history, process.number))
            .max_by_key(|growth| growth.risen_bytes)
            .unwrap_or_default(),
    };
    for sample in history.samples() {
        let rollups = || group.iter().filter_map(|process| sample.point(process.number)?.rollup);
        most.peak_proportional_bytes =
            most.peak_proportional_bytes.max(rollups().map(|rollup| rollup.proportional_bytes).sum());
        most.peak_private_bytes = most.peak_private_bytes.max(rollups().map(|rollup| rollup.private_bytes).sum());
    }
    most
}

/// Workers are started anew every epoch: what counts is how many there were at a time.
fn most_at_once(history: &HostHistory, group: &[&HostProcess]) -> usize {
    let count = |sample: &oomph_trace::host::HostSample| {
        group.iter().filter(|process| sample.point(process.number).is_some()).count()
    };
    history.samples().map(count).max().unwrap_or(0).max(1)
}
