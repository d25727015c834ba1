//! What each block is for, where the maker of the trace did not say.
//!
//! PyTorch's snapshots carry no categories. The stack tells most of it: a module's `_apply` moves parameters, code of
//! `torch.optim` makes optimizer state, threads without Python frames run the backward pass. What survives the
//! backward pass is a gradient; what a module call makes is an activation; what comes before the first module call of
//! an iteration is its input.
//!
//! A hollow run tells its weights, gradients and optimizer state block by block. It knows them all, so none is guessed
//! there: what looks like one and was not told is a temporary.

use oomph_heap::{BlockId, LiveSpan, Timeline};
use oomph_trace::{Action, Category, DeviceTrace, EventIndex, StackId};
use rustc_hash::FxHashSet;

use crate::attribution::Attribution;
use crate::source::{Sources, in_package};
use crate::steps::Steps;

/// What `cublasSetWorkspace` gets from PyTorch on cards before Hopper: 4096 KiB twice and 16 KiB eight times.
const CUBLAS_WORKSPACE_BYTES: u64 = 8_519_680;
/// The same on Hopper and later.
const CUBLAS_WORKSPACE_HOPPER_BYTES: u64 = 32 << 20;

/// The category of every block.
#[derive(Debug)]
pub struct Categories(Vec<Category>);

impl Categories {
    /// What a block is for.
    #[must_use]
    pub fn of(&self, block: BlockId) -> Category {
        self.0.get(block as usize).copied().unwrap_or(Category::Other)
    }

    /// By block, in the timeline's order.
    #[must_use]
    pub fn all(&self) -> &[Category] {
        &self.0
    }
}

/// What a stack alone says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Parameter,
    Optimizer,
    Input,
    /// Inside a module call.
    Forward,
    /// Code of autograd's `backward`, or no Python frame at all.
    Backward,
    /// The user's own code outside any model.
    Plain,
}

pub(crate) fn work_out(
    device: &DeviceTrace,
    timeline: &Timeline,
    sources: &Sources,
    attribution: &Attribution,
    steps: Option<&Steps>,
) -> Categories {
    let kinds: Vec<Kind> = (0..sources.table().stack_count()).map(|at| kind(sources, StackId(at as u32))).collect();
    let kind_of = |stack: StackId| kinds.get(stack.0 as usize).copied().unwrap_or(Kind::Plain);
    let after_backward = ends_of_backward(device, &kind_of);
    let told = timeline.blocks.iter().any(|block| block.category != Category::Unknown);
    let mut first_forward = FirstForward::default();
    let mut workspaces = Workspaces::default();
    let categories = timeline
        .blocks
        .iter()
        .map(|block| {
            if block.category != Category::Unknown {
                return block.category;
            }
            let iteration = block.alloc.map(|at| steps.map_or(0, |steps| steps.of_event(at)));
            let kind = if attribution.is_borrowed(block) { Kind::Backward } else { kind_of(block.stack) };
            if workspaces.is_one(block, kind) {
                return Category::Workspace;
            }
            match kind {
                Kind::Parameter | Kind::Optimizer if told => Category::Other,
                Kind::Parameter => Category::Parameter,
                Kind::Optimizer => Category::Optimizer,
                Kind::Input => Category::Input,
                Kind::Forward => {
                    first_forward.saw(iteration);
                    Category::Activation
                }
                Kind::Backward if !told && outlives(block, &after_backward) => Category::Gradient,
                Kind::Plain if block.alloc.is_none() => Category::Other,
                Kind::Plain if !first_forward.is_past(iteration) => Category::Input,
                Kind::Backward | Kind::Plain => Category::Activation,
            }
        })
        .collect();
    Categories(categories)
}

fn kind(sources: &Sources, stack: StackId) -> Kind {
    let any = |test: &dyn Fn(&str, &str) -> bool| sources.any(stack, test);
    if any(&|file, _| file.contains("torch/optim/")) {
        Kind::Optimizer
    } else if any(&|file, name| {
        file.ends_with("torch/autograd/__init__.py") && matches!(name, "backward" | "grad" | "_make_grads")
    }) {
        Kind::Backward
    } else if any(&is_construction) {
        Kind::Parameter
    } else if any(&|file, name| is_data_movement(file, name)) {
        Kind::Input
    } else if sources.outermost_first(stack).any(|frame| sources.is_module_call(frame)) {
        Kind::Forward
    } else {
        Kind::Plain
    }
}

fn is_construction(file: &str, name: &str) -> bool {
    let module = file.ends_with("torch/nn/modules/module.py") && matches!(name, "_apply" | "load_state_dict");
    let layer = file.contains("torch/nn/modules/") && matches!(name, "__init__" | "reset_parameters");
    module || layer || file.ends_with("torch/nn/init.py") || name == "from_pretrained"
}

fn is_data_movement(file: &str, name: &str) -> bool {
    let libraries = ["accelerate", "lightning", "pytorch_lightning", "transformers"];
    let mover = ["send_to_device", "_prepare_input", "_prepare_inputs", "batch_to_device", "move_data_to_device"];
    in_package(file, "torch/utils/data")
        || (mover.contains(&name) && libraries.iter().any(|library| in_package(file, library)))
}

/// The cuBLAS workspaces met so far.
///
/// Up to 2.14 PyTorch gives cuBLAS one workspace a stream and thread (forward and backward run on different ones) and
/// never frees it: the first block of exactly that size which an operator takes and keeps. From 2.15 on every product
/// has its own, and frees it before anything else happens.
#[derive(Default)]
struct Workspaces(FxHashSet<(u64, bool)>);

impl Workspaces {
    fn is_one(&mut self, block: &LiveSpan, kind: Kind) -> bool {
        let inside_an_operator = matches!(kind, Kind::Forward | Kind::Backward);
        let size = matches!(block.requested_bytes, CUBLAS_WORKSPACE_BYTES | CUBLAS_WORKSPACE_HOPPER_BYTES);
        let Some(alloc) = block.alloc.filter(|_| size && inside_an_operator) else { return false };
        match block.free_requested {
            Some(free) => free == alloc + 1,
            None => self.0.insert((block.stream, kind == Kind::Backward)),
        }
    }
}

/// For every event, the first event after it at which no backward pass was running, found from the stacks.
fn ends_of_backward(device: &DeviceTrace, kind_of: &impl Fn(StackId) -> Kind) -> Vec<EventIndex> {
    let mut ends = vec![device.events.len() as EventIndex; device.events.len()];
    let mut next = device.events.len() as EventIndex;
    for (at, event) in device.events.iter().enumerate().rev() {
        let framed = event.stack != StackId::EMPTY && event.stack != StackId::MISSING;
        if framed && event.action == Action::Alloc && kind_of(event.stack) != Kind::Backward {
            next = at as EventIndex;
        }
        ends[at] = next;
    }
    ends
}

/// Whether a block made in a backward pass was still held when that pass was over.
fn outlives(block: &LiveSpan, after_backward: &[EventIndex]) -> bool {
    let Some(alloc) = block.alloc else { return false };
    let over = after_backward.get(alloc as usize).copied().unwrap_or(EventIndex::MAX);
    block.free_requested.is_none_or(|free| free >= over)
}

/// Whether an iteration's first module call has been seen.
#[derive(Default)]
struct FirstForward(Option<usize>);

impl FirstForward {
    fn saw(&mut self, iteration: Option<usize>) {
        self.0 = iteration.or(self.0);
    }

    fn is_past(&self, iteration: Option<usize>) -> bool {
        iteration.is_some() && self.0 == iteration
    }
}

#[cfg(test)]
mod tests {
    use oomph_trace::{Category, Origin, TraceBuilder};

    use super::CUBLAS_WORKSPACE_HOPPER_BYTES;
    use crate::{Options, explain};

    const LINEAR: [(&str, &str, u32); 3] = [
        ("forward", "/x/site-packages/torch/nn/modules/linear.py", 134),
        ("_call_impl", "/x/site-packages/torch/nn/modules/module.py", 1787),
        ("<module>", "train.py", 3),
    ];

    /// A layer's output and what else was live with it at the peak.
    fn check(is_freed_after: Option<u64>, expected: &[(Category, u64)]) {
        let mut job = TraceBuilder::new(Origin::HollowRun);
        job.at(10).alloc(0x1000_0000, 4096, &LINEAR).alloc(0x2000_0000, CUBLAS_WORKSPACE_HOPPER_BYTES, &LINEAR);
        if let Some(bytes) = is_freed_after {
            if bytes > 0 {
                job.alloc(0x3000_0000, bytes, &LINEAR);
            }
            job.free(0x2000_0000, CUBLAS_WORKSPACE_HOPPER_BYTES, &LINEAR);
        }
        let trace = job.finish();
        let report = explain(&trace, &Options::default()).unwrap();
        let found: Vec<_> = report.holders.categories.iter().copied().filter(|&(_, bytes)| bytes > 0).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_workspace_is_kept_for_ever_or_given_back_at_once() {
        let apart = [(Category::Activation, 4096), (Category::Workspace, CUBLAS_WORKSPACE_HOPPER_BYTES)];
        check(None, &apart);
        check(Some(0), &apart);
        check(Some(512), &[(Category::Activation, CUBLAS_WORKSPACE_HOPPER_BYTES + 4096 + 512)]);
    }
}
