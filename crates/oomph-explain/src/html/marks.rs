//! Steps and phases as the job marked them.

use oomph_trace::{DeviceTrace, EventIndex, Mark, MarkStage, Trace};

use super::input::{PhaseMark, StepMark};

/// Steps of a device as its marks name them (`step 3`, `epoch 2`, `ProfilerStep#7`), oldest first.
pub(crate) fn steps(trace: &Trace, device: &DeviceTrace) -> Vec<StepMark> {
    let mut found: Vec<StepMark> = Vec::new();
    for mark in of_device(trace, device).filter(|mark| mark.stage != MarkStage::End) {
        let name = trace.stacks.string(mark.name);
        if is_numbered(name) {
            found
                .push(StepMark { name: name.replace("ProfilerStep#", "step "), event: event_at(device, mark.time_us) });
        }
    }
    found
}

/// Phases of a device, such as the backward pass: each mark that begins and has no number, until it ends.
pub(crate) fn phases(trace: &Trace, device: &DeviceTrace) -> Vec<PhaseMark> {
    let mut found: Vec<PhaseMark> = Vec::new();
    let mut open: Vec<(usize, &str)> = Vec::new();
    let end = device.events.len() as EventIndex;
    for mark in of_device(trace, device) {
        let Some(name) = phase_name(trace.stacks.string(mark.name)) else { continue };
        let event = event_at(device, mark.time_us);
        match mark.stage {
            MarkStage::Start => {
                open.push((found.len(), name));
                // Until its end is seen it lasts to the end: the job may have died inside.
                found.push(PhaseMark { name: name.to_owned(), start: event, end });
            }
            MarkStage::End => {
                if let Some(at) = open.iter().rposition(|&(_, opened)| opened == name) {
                    found[open.remove(at).0].end = event;
                }
            }
            MarkStage::Instant | MarkStage::Other(_) => {}
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
    (!name.contains('#') && !is_numbered(name)).then_some(name)
}

/// `step 3` is one of many, `backward` is not.
fn is_numbered(name: &str) -> bool {
    name.ends_with(|last: char| last.is_ascii_digit()) && !name.starts_with("Optimizer.")
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
    fn steps_are_the_marks_with_numbers() {
        use MarkStage::{End, Start};
        let trace = job(&[
            (5, "step 1", Start),
            (25, "backward", Start),
            (35, "backward", End),
            (36, "step 1", End),
            (45, "ProfilerStep#2", Start),
            (46, "Optimizer.step#Adam2", Start),
        ]);
        let found: Vec<_> = steps(&trace, &trace.devices[0]).into_iter().map(|step| (step.name, step.event)).collect();
        assert_eq!(found, [("step 1".to_owned(), 0), ("step 2".to_owned(), 4)]);
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
