//! Who held what when memory ran out.

use oomph_trace::host::{HostHistory, HostPoint, HostProcess, HostRole, HostRollup};

use super::growth::{HostGrowth, growth_of};

/// A process at the moment that is looked at.
#[derive(Clone, Debug)]
pub(super) struct Holder<'a> {
    pub(super) process: &'a HostProcess,
    pub(super) point: HostPoint,
    /// Bytes of its heap that no other process shares, as far as is known.
    pub(super) own_bytes: u64,
    pub(super) growth: HostGrowth,
}

impl Holder<'_> {
    /// Whether it works for another process of the job: a worker, or a copy of its parent.
    pub(super) fn is_worker(&self) -> bool {
        matches!(self.process.role, HostRole::Worker | HostRole::Forked)
    }

    pub(super) fn pinned_bytes(&self) -> u64 {
        self.point.told.map_or(0, |told| told.pinned_bytes)
    }
}

/// All processes at one moment.
#[derive(Clone, Debug)]
pub(super) struct Moment<'a> {
    pub(super) history: &'a HostHistory,
    pub(super) holders: Vec<Holder<'a>>,
    /// Shared memory that is not pinned: batches that workers have prepared, tensors that were shared.
    pub(super) shared_memory_bytes: u64,
    pub(super) pinned_bytes: u64,
}

impl<'a> Moment<'a> {
    /// The last moment at which a process was seen; the last of all where it was not, or where none is given.
    pub(super) fn of(history: &'a HostHistory, pid: Option<u32>) -> Self {
        let number = pid.and_then(|pid| history.by_pid(pid)).map(|process| process.number);
        let with_it = number.and_then(|number| history.samples().rev().find(|sample| sample.point(number).is_some()));
        let sample = with_it.or_else(|| history.last());
        let time_ms = sample.map_or(0, |sample| sample.time_ms);
        let holder = |point: &HostPoint| {
            let process = history.process(point.process)?;
            let own_bytes = own_bytes(history, point, time_ms);
            Some(Holder { process, point: *point, own_bytes, growth: growth_of(history, point.process) })
        };
        let holders: Vec<Holder> = sample.map_or(&[][..], |sample| &sample.points).iter().filter_map(holder).collect();
        let pinned_bytes = holders.iter().map(Holder::pinned_bytes).sum();
        let shared = |holder: &Holder| {
            last_rollup(history, holder.point.process, time_ms).map_or(0, |(_, rollup)| rollup.shared_memory_bytes)
        };
        // On Linux pinned memory is shared memory that one process has.
        let shared_memory_bytes = holders.iter().map(shared).sum::<u64>().saturating_sub(pinned_bytes);
        Self { history, holders, shared_memory_bytes, pinned_bytes }
    }

    /// All that is known to be held.
    pub(super) fn held_bytes(&self) -> u64 {
        let own: u64 = self.holders.iter().map(|holder| holder.own_bytes).sum();
        own + self.shared_memory_bytes + self.pinned_bytes
    }

    /// The process that holds most.
    pub(super) fn largest(&self) -> Option<&Holder<'a>> {
        self.holders.iter().max_by_key(|holder| holder.own_bytes)
    }
}

/// What was read of a process by a moment, and its heap then.
fn last_rollup(history: &HostHistory, process: u32, time_ms: u64) -> Option<(u64, HostRollup)> {
    let earlier = history.samples().rev().filter(|sample| sample.time_ms <= time_ms);
    earlier.filter_map(|sample| sample.point(process)).find_map(|point| Some((point.heap_bytes(), point.rollup?)))
}

/// Heap bytes that no other process shares: as they were last read, and what the heap has risen by since.
fn own_bytes(history: &HostHistory, point: &HostPoint, time_ms: u64) -> u64 {
    let Some((heap_then_bytes, rollup)) = last_rollup(history, point.process, time_ms) else {
        return point.heap_bytes();
    };
    let private_then_bytes = rollup.private_bytes.min(heap_then_bytes);
    (private_then_bytes + point.heap_bytes()).saturating_sub(heap_then_bytes)
}
