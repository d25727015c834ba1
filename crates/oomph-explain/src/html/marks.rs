//! Steps and phases as the job marked them.

use oomph_trace::{DeviceTrace, EventIndex, Mark, MarkStage, Trace};
use rustc_hash::FxHashMap;

use super::input::{PhaseMark, StepMark};

/// Steps of a device as its marks name them (`step 3`, `ProfilerStep#3`), oldest first; where it has none, whatever else
/// its marks count, such as the iterations of a loop.
pub(crate) fn steps(trace: &Trace, device: &DeviceTrace) -> Vec<StepMark> {
    let mut steps = Vec::new();
    let mut others = Vec::new();
    for mark in of_device(trace, device).filter(|mark| mark.stage != MarkStage::End) {
        let Some((counted, number)) = numbered(trace.stacks.string(mark.name)) else { continue };
        let event = event_at(device, mark.time_us);
        match counted {
            "step" | "ProfilerStep" => steps.push(StepMark { name: format!("step {number}"), event }),
            _ => others.push(StepMark { name: name_of(counted, number), event }),
        }
    }
    if steps.is_empty() { others } else { steps }
}

/// A loop's mark names its line too: `iteration train.py:12 3`.
fn name_of(counted: &str, number: &str) -> String {
    match counted.split_once(' ') {
        Some((what, place)) => format!("{what} {number} ({place})"),
        None => format!("{counted} {number}"),
    }
}

/// Phases of a device, such as the backward pass: each mark that begins and has no number, until it ends. Of phases of
/// one name inside one another, as oomph and PyTorch both mark an optimizer, only the outermost counts.
pub(crate) fn phases(trace: &Trace, device: &DeviceTrace) -> Vec<PhaseMark> {
    let mut found: Vec<PhaseMark> = Vec::new();
    let mut open: FxHashMap<&str, (usize, usize)> = FxHashMap::default();
    let end = device.events.len() as EventIndex;
    for mark in of_device(trace, device) {
        let Some(name) = phase_name(trace.stacks.string(mark.name)) else { continue };
        let (at, depth) = open.entry(name).or_default();
        match mark.stage {
            MarkStage::Start => {
                *depth += 1;
                if *depth == 1 {
                    *at = found.len();
                    // Until its end is seen it lasts to the end: the job may have died inside.
                    found.push(PhaseMark { name: name.to_owned(), start: event_at(device, mark.time_us), end });
                }
            }
            MarkStage::End if *depth > 0 => {
                *depth -= 1;
                if *depth == 0 {
                    found[*at].end = event_at(device, mark.time_us);
                }
            }
            MarkStage::End | MarkStage::Instant | MarkStage::Other(_) => {}
        }
    }
    found.retain(|phase| phase.start < phase.end);
    found
}

fn of_device<'a>(trace: &'a Trace, device: &DeviceTrace) -> impl Iterator<Item = &'a Mark> {
    let ordinal = device.ordinal;
    trace.marks.iter().filter(move |mark| mark.device == ordinal)
}

/// What a stretch is called on the page. PyTorch marks every call of an optimizer; its other marks are no phases of a
/// step.
fn phase_name(name: &str) -> Option<&str> {
    if name.starts_with("Optimizer.step#") {
        return Some("optimizer");
    }
    (!name.contains('#') && numbered(name).is_none()).then_some(name)
}

/// What a mark counts and its number: `step 3` is one of many, `backward` is not.
fn numbered(name: &str) -> Option<(&str, &str)> {
    let (counted, number) = name.rsplit_once([' ', '#'])?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some((counted, number))
}

/// The first event at or after a time.
fn event_at(device: &DeviceTrace, time_us: u64) -> EventIndex {
    device.events.partition_point(|event| event.time_us < time_us) as EventIndex
}

#[cfg(test)]
mod tests {
    use oomph_trace::{Origin, TraceBuilder};

    use super::*;

    /// Blocks at 10, 20, 30, ... with marks between them.
    fn job(marks: &[(u64, &str, MarkStage)]) -> Trace {
        let mut job = TraceBuilder::new(Origin::HollowRun);
        for time_us in (10..=80_u64).step_by(10) {
            job.at(time_us).alloc(0x1000 * time_us, 512, &[("main", "train.py", 1)]);
        }
        let mut trace = job.finish();
        let mut interner = oomph_trace::Interner::from_table(std::mem::take(&mut trace.stacks));
        for &(time_us, name, stage) in marks {
            let name = interner.intern_string(name);
            trace.marks.push(Mark { device: 0, time_us, name, stage, extra: oomph_trace::Extra::new() });
        }
        trace.stacks = interner.into_table();
        trace
    }

    #[test]
    fn steps_are_the_marks_that_count_them() {
        use MarkStage::{End, Start};
        let trace = job(&[
            (4, "iteration train.py:3 1", Start),
            (5, "step 1", Start),
            (25, "backward", Start),
            (35, "backward", End),
            (36, "step 1", End),
            (45, "ProfilerStep#2", Start),
            (46, "Optimizer.step#Adam2", Start),
        ]);
        assert_eq!(named(&steps(&trace, &trace.devices[0])), [("step 1", 0), ("step 2", 4)]);
    }

    fn named(steps: &[StepMark]) -> Vec<(&str, EventIndex)> {
        steps.iter().map(|step| (step.name.as_str(), step.event)).collect()
    }

    #[test]
    fn a_job_without_steps_shows_the_iterations_of_its_loops() {
        let trace = job(&[(5, "iteration infer.py:12 1", MarkStage::Start), (25, "batch 2", MarkStage::Start)]);
        assert_eq!(named(&steps(&trace, &trace.devices[0])), [("iteration 1 (infer.py:12)", 0), ("batch 2", 2)]);
    }

    #[test]
    fn a_phase_that_two_mark_is_one() {
        use MarkStage::{End, Start};
        let trace = job(&[
            (5, "optimizer", Start),
            (15, "Optimizer.step#AdamW.step", Start),
            (35, "Optimizer.step#AdamW.step", End),
            (45, "optimizer", End),
            (46, "optimizer", End),
            (55, "optimizer", Start),
        ]);
        let found = phases(&trace, &trace.devices[0]);
        assert_eq!(found.iter().map(|phase| (phase.start, phase.end)).collect::<Vec<_>>(), [(0, 4), (5, 8)]);
    }

    #[test]
    fn phases_last_from_their_start_to_their_end() {
        use MarkStage::{End, Start};
        let trace = job(&[
            (5, "step 1", Start),
            (15, "backward", Start),
            (35, "backward", End),
            (36, "Optimizer.step#AdamW.step", Start),
            (37, "enumerate(DataLoader)#_next", Start),
            (55, "Optimizer.step#AdamW.step", End),
            (56, "nothing happens", Start),
            (57, "nothing happens", End),
            (65, "validation", Start),
        ]);
        let found = phases(&trace, &trace.devices[0]);
        let found: Vec<_> = found.iter().map(|phase| (phase.name.as_str(), phase.start, phase.end)).collect();
        assert_eq!(found, [("backward", 1, 3), ("optimizer", 3, 5), ("validation", 6, 8)]);
    }

    #[test]
    fn other_devices_have_marks_of_their_own() {
        let mut trace = job(&[(5, "step 1", MarkStage::Start), (6, "backward", MarkStage::Start)]);
        for mark in &mut trace.marks {
            mark.device = 1;
        }
        assert!(steps(&trace, &trace.devices[0]).is_empty());
        assert!(phases(&trace, &trace.devices[0]).is_empty());
    }
}
