//! Workers of a `DataLoader`, and other copies of a process.

use super::{Finding, HostCause, median, place, short};
use crate::bytes::show;
use crate::host::facts::HostFacts;
use crate::host::moment::{Holder, Moment};
use oomph_trace::host::HostRole;

/// The memory of workers together: copies of what they shared, or what each built up.
pub(super) fn find(moment: &Moment, facts: &HostFacts) -> Option<Finding> {
    let workers: Vec<&Holder> = moment.holders.iter().filter(|holder| holder.is_worker()).collect();
    if workers.len() < 2 || !are_alike(&workers) {
        return None;
    }
    let own_bytes: u64 = workers.iter().map(|worker| worker.own_bytes).sum();
    let risen_bytes: u64 = workers.iter().map(|worker| worker.growth.risen_bytes).sum();
    // A page that a worker takes over from its parent was resident before: its own memory rises, its heap does not.
    let finding = if risen_bytes < own_bytes / 2 { copies(&workers, own_bytes) } else { grow(&workers, facts) };
    Some(finding)
}

/// Whether most of them hold about as much as one another: one alone that grows is another matter.
fn are_alike(workers: &[&Holder]) -> bool {
    let middle_bytes = median(workers.iter().map(|worker| worker.own_bytes).collect());
    let alike =
        workers.iter().filter(|worker| (middle_bytes / 2..=middle_bytes.saturating_mul(2)).contains(&worker.own_bytes));
    alike.count() * 3 >= workers.len() * 2
}

fn copies(workers: &[&Holder], own_bytes: u64) -> Finding {
    let each_bytes = median(workers.iter().map(|worker| worker.own_bytes).collect());
    Finding {
        cause: HostCause::WorkerCopies,
        bytes: own_bytes,
        pid: None,
        sentence: format!(
            "{} held {} of their own, about {} each: they began by sharing the memory of the process that forked them, \
             and reading Python objects writes to them (reference counts), so that each ends up with a copy.",
            name(workers),
            show(own_bytes),
            show(each_bytes)
        ),
        place: None,
        advice: vec![
            "Keep the data set in a few large arrays (NumPy arrays, tensors, memory-mapped files) instead of lists and \
             dicts of Python objects: reading those copies nothing."
                .to_owned(),
            format!("Use fewer workers: each one less saves about {}.", show(each_bytes)),
        ],
    }
}

fn grow(workers: &[&Holder], facts: &HostFacts) -> Finding {
    let risen_bytes: u64 = workers.iter().map(|worker| worker.growth.risen_bytes).sum();
    let each_bytes = median(workers.iter().map(|worker| worker.growth.risen_bytes).collect());
    let is_of_worker = |pid: u32| workers.iter().any(|worker| worker.process.pid == pid);
    let line = facts.growth.iter().filter(|line| is_of_worker(line.pid)).max_by_key(|line| line.bytes_per_step);
    let at = line.and_then(|line| place(line.file.as_ref(), line.line));
    let keeps = line.zip(at.as_ref()).map_or_else(String::new, |(line, at)| {
        format!("; {} keeps {} from every batch", short(at), show(line.bytes_per_step))
    });
    let mut advice = vec![match &at {
        Some(at) => format!("Do not keep what {} keeps from batch to batch, or bound it.", short(at)),
        None => "Look for what the data set keeps from item to item: a cache, a list, open files.".to_owned(),
    }];
    if at.is_none() {
        advice.push(
            "Where workers are started with spawn or forkserver, each gets a copy of the data set: open the data in the \
             worker, from a memory-mapped file."
                .to_owned(),
        );
    }
    advice.push(format!("Use fewer workers: each one less saves about {}.", show(each_bytes)));
    Finding {
        cause: HostCause::WorkersGrow,
        bytes: risen_bytes,
        pid: line.map(|line| line.pid),
        sentence: format!(
            "{} grew by {} since they were started, about {} each{keeps}.",
            name(workers),
            show(risen_bytes),
            show(each_bytes)
        ),
        place: at,
        advice,
    }
}

fn name(workers: &[&Holder]) -> String {
    let are_loaders = workers.iter().all(|worker| worker.process.role == HostRole::Worker);
    format!("{} {}", workers.len(), if are_loaders { "DataLoader workers" } else { "forked processes" })
}
