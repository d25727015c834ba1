//! Which lines keep host memory from step to step, in jobs that did not run out of it.

use oomph_trace::Trace;

use super::facts::HostFacts;
use crate::bytes::show;
use crate::source::file_name;
use crate::{Options, explain};

/// A line that keeps host memory from every step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostKept {
    /// The process.
    pub pid: u32,
    /// The file.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// What every step adds.
    pub bytes_per_step: u64,
    /// Steps that were seen to.
    pub steps: u64,
}

impl HostKept {
    /// It in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Self { line, steps, .. } = self;
        format!(
            "{}:{line} keeps {} of host memory from every step, seen in {steps} steps",
            file_name(&self.file),
            show(self.bytes_per_step),
        )
    }
}

/// The lines that keep most in each process: of its tensors, by the trace of its host memory, and of other objects, by
/// what Python found. Most bytes first.
#[must_use]
pub fn host_kept(hosts: &[(u32, &Trace)], facts: &HostFacts) -> Vec<HostKept> {
    let of_tensors = hosts.iter().filter_map(|&(pid, host)| tensors_kept(pid, host));
    let of_objects = facts.growth.iter().filter_map(|growth| {
        let (file, line) = (growth.file.clone()?, growth.line?);
        Some(HostKept { pid: growth.pid, file, line, bytes_per_step: growth.bytes_per_step, steps: growth.steps })
    });
    let mut kept: Vec<HostKept> = Vec::new();
    for found in of_tensors.chain(of_objects) {
        // Workers all do the same.
        match kept.iter_mut().find(|known| (&known.file, known.line) == (&found.file, found.line)) {
            Some(known) => known.bytes_per_step += found.bytes_per_step,
            None => kept.push(found),
        }
    }
    kept.sort_by_key(|kept| std::cmp::Reverse(kept.bytes_per_step));
    kept
}

fn tensors_kept(pid: u32, host: &Trace) -> Option<HostKept> {
    let report = explain(host, &Options { is_about_peak: true, ..Options::default() }).ok()?;
    let line = report.verdict.accusation.line?;
    let retention = report.leaks.iter().find(|retention| retention.line == Some(line))?;
    let (file, number) = report.case.sources.place(line);
    let (bytes_per_step, steps) = (retention.bytes_per_step, retention.steps as u64);
    Some(HostKept { pid, file: file.to_owned(), line: number, bytes_per_step, steps })
}

#[cfg(test)]
mod tests {
    use oomph_trace::{Origin, TraceBuilder};

    use super::*;
    use crate::host::LineGrowth;

    /// Thirty steps of host memory: a batch comes and goes in each, and some keep a result.
    fn host(keeps: impl Fn(u64) -> bool) -> Trace {
        const MIB: u64 = 1 << 20;
        let (batch, result) = ([("<module>", "train.py", 4)], [("<module>", "train.py", 9)]);
        let mut job = TraceBuilder::new(Origin::RealRun);
        for step in 1..=30 {
            job.mark_start(&format!("step {step}"));
            job.alloc(MIB, 8 * MIB, &batch).alloc(64 * MIB, MIB, &batch);
            if keeps(step) {
                job.alloc((100 + 4 * step) * MIB, 2 * MIB, &result);
            }
            job.free(MIB, 8 * MIB, &batch).free(64 * MIB, MIB, &batch);
        }
        job.finish()
    }

    #[test]
    fn tensors_that_every_step_keeps_are_named_and_a_few_are_not() {
        let leaking = host(|_| true);
        let [kept] = host_kept(&[(7, &leaking)], &HostFacts::default()).try_into().expect("one line");
        assert_eq!((kept.pid, kept.file.as_str(), kept.line, kept.bytes_per_step), (7, "train.py", 9, 2 << 20));
        assert!(kept.sentence().starts_with("train.py:9 keeps 2.00MiB of host memory"), "{}", kept.sentence());
        let healthy = host(|step| step < 4);
        assert_eq!(host_kept(&[(7, &healthy)], &HostFacts::default()), []);
    }

    #[test]
    fn workers_that_grow_alike_are_one() {
        let growth = |pid| LineGrowth { pid, file: Some("data.py".into()), line: Some(3), bytes_per_step: 5, steps: 8 };
        let facts = HostFacts { growth: vec![growth(1), growth(2)], ..HostFacts::default() };
        let [kept] = host_kept(&[], &facts).try_into().expect("one line");
        assert_eq!((kept.line, kept.bytes_per_step), (3, 10));
    }
}
