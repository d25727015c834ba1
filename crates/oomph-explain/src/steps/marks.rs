//! Iterations as marks in the trace tell them: a profiler's steps, oomph's own, or those of one loop by its name.

use oomph_trace::{DeviceTrace, EventIndex, Mark, MarkStage, StackTable};
use rustc_hash::FxHashMap;

use super::{Allocs, StepSource, Steps, loop_frame, still_running};
use crate::source::Sources;

/// The name of the marks with which a plan and a recorded run tell the steps of a job: `step 1`, `step 2`, ...
pub(super) const OWN_STEPS: &str = "step";

/// Two gaps are the least that can resemble each other.
const STARTS_MIN: usize = 3;

/// Where marks are looked for.
pub(super) struct MarkedLoops<'a> {
    pub(super) device: &'a DeviceTrace,
    pub(super) marks: &'a [Mark],
    pub(super) sources: &'a Sources<'a>,
    pub(super) allocs: &'a Allocs,
    pub(super) moment: EventIndex,
}

impl MarkedLoops<'_> {
    /// The loop with most iterations among those whose marks belong to a family and that was running at the moment.
    pub(super) fn running(&self, family_of: fn(&str) -> Option<String>) -> Option<Steps> {
        let mut families: FxHashMap<String, Vec<u64>> = FxHashMap::default();
        for mark in self.starts() {
            if let Some(family) = family_of(self.sources.table().string(mark.name)) {
                families.entry(family).or_default().push(mark.time_us);
            }
        }
        let mut families: Vec<(String, Vec<u64>)> = families.into_iter().collect();
        families.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.0.cmp(&b.0)));
        families.into_iter().find_map(|(family, times)| {
            let starts = self.events_at(times);
            let is_running = starts.len() >= STARTS_MIN && still_running(&self.positions(&starts), self.allocs.len());
            is_running.then(|| self.steps(family, starts))
        })
    }

    /// The loop with this name, however far it got.
    pub(super) fn named(&self, name: &str) -> Option<Steps> {
        let table = self.sources.table();
        let times = self.starts().filter(|mark| is_of_loop(table, mark, name)).map(|mark| mark.time_us).collect();
        let starts = self.events_at(times);
        (!starts.is_empty()).then(|| self.steps(name.to_owned(), starts))
    }

    fn starts(&self) -> impl Iterator<Item = &Mark> {
        self.marks.iter().filter(|mark| mark.device == self.device.ordinal && mark.stage != MarkStage::End)
    }

    /// The first events of iterations that began at these times, up to the moment.
    fn events_at(&self, mut times: Vec<u64>) -> Vec<EventIndex> {
        times.sort_unstable();
        let until = &self.device.events[..(self.moment as usize + 1).min(self.device.events.len())];
        let mut starts: Vec<EventIndex> = times
            .iter()
            .map(|&time| until.partition_point(|event| event.time_us < time) as EventIndex)
            .filter(|&start| start <= self.moment)
            .collect();
        starts.dedup();
        starts
    }

    fn positions(&self, starts: &[EventIndex]) -> Vec<usize> {
        starts.iter().map(|&start| self.allocs.events.partition_point(|&alloc| alloc < start)).collect()
    }

    fn steps(&self, name: String, starts: Vec<EventIndex>) -> Steps {
        let loop_frame = loop_frame(self.sources, self.allocs, &self.positions(&starts));
        Steps { loop_frame, starts, source: StepSource::Marks(name), inside_model: false }
    }
}

/// Where a loop was seen last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopEnd {
    /// The event before its last iteration's end, or where that is not marked, at its beginning.
    pub(crate) event: EventIndex,
    /// Whether its last iteration came to an end.
    pub(crate) is_over: bool,
}

/// Where the loop with this name was seen last, if it is marked at all.
pub(crate) fn end_of_loop(device: &DeviceTrace, marks: &[Mark], table: &StackTable, name: &str) -> Option<LoopEnd> {
    let of_loop = |mark: &&Mark| mark.device == device.ordinal && is_of_loop(table, mark, name);
    let last = marks.iter().filter(of_loop).max_by_key(|mark| mark.time_us)?;
    let first_after = device.events.partition_point(|event| event.time_us < last.time_us);
    let is_over = last.stage == MarkStage::End;
    let at = if is_over { first_after.saturating_sub(1) } else { first_after };
    Some(LoopEnd { event: at.min(device.events.len().saturating_sub(1)) as EventIndex, is_over })
}

fn is_of_loop(table: &StackTable, mark: &Mark, name: &str) -> bool {
    without_number(table.string(mark.name)) == Some(name)
}

/// `iteration train.py:25 7` without its number.
fn without_number(name: &str) -> Option<&str> {
    let family = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (family.len() < name.len()).then(|| family.trim_end())
}

/// `ProfilerStep#7` and `step 7` name steps; the number is left out. `Optimizer.step#Adam.step` names a phase of one.
/// `iteration train.py:25 7` names an iteration of one loop.
pub(super) fn step_family(name: &str) -> Option<String> {
    let family = without_number(name)?;
    let word = family.trim_end_matches(['#', '_', '-', ':', '=']).to_ascii_lowercase();
    let known = ["step", "iteration", "iter", "batch"].iter().any(|known| word.ends_with(known));
    let of_a_loop = family.starts_with("iteration ");
    ((known || of_a_loop) && !name.starts_with("Optimizer.")).then(|| family.to_owned())
}

/// PyTorch marks every optimizer step by itself. It is the last thing of most loops, so its beginning will do.
pub(super) fn optimizer_family(name: &str) -> Option<String> {
    name.starts_with("Optimizer.step#").then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use oomph_trace::{Origin, Trace, TraceBuilder};

    use super::step_family;
    use crate::steps::StepSource;
    use crate::{Options, explain};

    #[test]
    fn only_numbered_steps_name_steps() {
        assert_eq!(step_family("ProfilerStep#12").as_deref(), Some("ProfilerStep#"));
        assert_eq!(step_family("step 0").as_deref(), Some("step"));
        assert_eq!(step_family("iteration train.py:25 7").as_deref(), Some("iteration train.py:25"));
        assert_eq!(step_family("Optimizer.step#AdamW.step"), None);
        assert_eq!(step_family("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"), None);
        assert_eq!(step_family("layer 3"), None);
    }

    /// Two steps of a forward pass over many equal layers, then a validation loop that keeps its outputs.
    fn job() -> Trace {
        let layer = [("forward", "model.py", 5), ("<module>", "train.py", 20)];
        let keep = [("<module>", "train.py", 33)];
        let mut job = TraceBuilder::new(Origin::HollowRun);
        let mut next = 0x1000;
        for step in 1..=2 {
            job.mark_start(&format!("step {step}"));
            for layer_at in 0..20 {
                job.alloc(0x10_0000 + layer_at * 0x1000, 4096, &layer);
            }
            for layer_at in 0..20 {
                job.free(0x10_0000 + layer_at * 0x1000, 4096, &layer);
            }
        }
        for batch in 0..5 {
            job.mark_start(&format!("iteration train.py:30 {batch}"));
            job.alloc(0x1000_0000 + next, 2048, &keep);
            next += 0x1000;
            job.mark_end(&format!("iteration train.py:30 {batch}"));
        }
        for layer_at in 0..20 {
            job.alloc(0x20_0000 + layer_at * 0x1000, 4096, &layer);
        }
        job.finish()
    }

    #[test]
    fn marked_steps_beat_periods_even_where_they_are_few() {
        let trace = job();
        let report = explain(&trace, &Options::default()).unwrap();
        let steps = report.case.steps.as_ref().expect("steps");
        assert_eq!((&steps.source, steps.starts.len()), (&StepSource::Marks("step".into()), 2));
    }

    #[test]
    fn a_loop_asked_for_by_name_is_looked_at_where_it_ends() {
        let trace = job();
        let name = Some("iteration train.py:30".to_owned());
        let report = explain(&trace, &Options { loop_name: name, ..Options::default() }).unwrap();
        let steps = report.case.steps.as_ref().expect("steps");
        assert_eq!(steps.starts.len(), 5);
        let kept = report.kept_per_iteration();
        let found: Vec<_> = kept.iter().map(|kept| (kept.class, kept.file, kept.line, kept.bytes)).collect();
        assert_eq!(found, [("leak", "train.py", 33, 2048)]);
        let nobody = Options { loop_name: Some("iteration train.py:99".into()), ..Options::default() };
        assert!(explain(&trace, &nobody).unwrap().kept_per_iteration().is_empty());
    }
}
