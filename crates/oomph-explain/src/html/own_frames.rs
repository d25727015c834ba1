//! Leaves oomph's own frames out of the stacks a page shows: a plan runs the script inside oomph's package and puts
//! functions around torch's, and neither is the reader's concern.

use oomph_trace::{FrameId, StackId, StackTable};

use crate::source::in_package;

/// The frames of a stack that belong to the job, innermost first.
pub(super) fn frames_of_job(table: &StackTable, stack: StackId) -> Vec<FrameId> {
    let file = |frame: &FrameId| table.string(table.frame(*frame).file);
    let frames = table.stack(stack);
    // The interpreter's way into oomph (`python -m`) lies outside oomph's outermost frame.
    let way_in = frames.iter().rev().take_while(|frame| file(frame) == "<frozen runpy>").count();
    let inside = &frames[..frames.len() - way_in];
    let starts_in_oomph = inside.last().is_some_and(|frame| is_own(file(frame)));
    let kept = if starts_in_oomph { inside } else { frames };
    kept.iter().copied().filter(|frame| !is_own(file(frame))).collect()
}

/// Whether a file is one of those a plan puts on the interpreter's path.
fn is_own(file: &str) -> bool {
    in_package(file, "oomph") || file.ends_with("site-packages/__main__.py")
}

#[cfg(test)]
mod tests {
    use oomph_trace::{Origin, TraceBuilder};

    use super::frames_of_job;

    /// The files of a stack, given and returned innermost first.
    fn shown(files: &[&str]) -> Vec<String> {
        let calls: Vec<(&str, &str, u32)> = files.iter().map(|file| ("call", *file, 1)).collect();
        let mut job = TraceBuilder::new(Origin::HollowRun);
        job.alloc(0x1000, 512, &calls);
        let trace = job.finish();
        let frames = frames_of_job(&trace.stacks, trace.devices[0].events[0].stack);
        frames.iter().map(|&frame| trace.stacks.string(trace.stacks.frame(frame).file).to_owned()).collect()
    }

    #[test]
    fn a_plan_shows_what_a_run_without_oomph_would() {
        let files = [
            "/x/site-packages/torch/nn/functional.py",
            "/tmp/oomph-plan-1/site-packages/oomph/hollow/following.py",
            "train.py",
            "/tmp/oomph-plan-1/site-packages/oomph/launch.py",
            "/tmp/oomph-plan-1/site-packages/__main__.py",
            "<frozen runpy>",
            "<frozen runpy>",
        ];
        assert_eq!(shown(&files), ["/x/site-packages/torch/nn/functional.py", "train.py"]);
    }

    #[test]
    fn other_stacks_stay_whole() {
        let module = ["train.py", "<frozen runpy>"];
        assert_eq!(shown(&module), module, "the job's own `python -m`");
        let folder = ["/home/me/oomph/train.py"];
        assert_eq!(shown(&folder), folder, "a folder that has the name by chance");
    }
}
