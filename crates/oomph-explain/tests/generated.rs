//! Verdicts on jobs nobody recorded: random models, sizes, loops and limits, run through the allocator's replica.
//!
//! Each generator writes the requests of a job that dies (or lives) for a known reason; the guilty line is known
//! because the generator wrote it. Nothing here shares a number with the recorded corpus.

use oomph_explain::{Options, explain, render};
use oomph_heap::{BlockId, BumpSource, Config, Op, Order, Requests, policy, record, replay};
use oomph_trace::{Action, Interner, Origin, PoolId, StackId, Trace};
use proptest::prelude::*;
use serde_json::Value;

const MIB: u64 = 1 << 20;
const SCRIPT: &str = "/home/me/project/train.py";
const TORCH: &str = "/opt/lib/python3.12/site-packages/torch";

/// Lines of the imaginary script.
const BUILD: u32 = 30;
const BATCH: u32 = 41;
const FORWARD: u32 = 42;
const LOSS: u32 = 43;
const BACKWARD: u32 = 44;
const STEP: u32 = 45;
const KEEP: u32 = 46;
const AFTER: u32 = 60;

/// A job being written.
struct Job {
    interner: Interner,
    ops: Vec<Op>,
    requested_bytes: Vec<u64>,
    stacks: Vec<StackId>,
}

/// How a tensor comes into being.
#[derive(Clone, Copy)]
enum How {
    /// Right on a line of the training loop.
    Line(u32),
    /// In a layer of the model that a line of the loop calls.
    Layer(u32),
    /// When a module is moved to the card.
    Move(u32),
    /// In `optimizer.step()`.
    Optimizer,
    /// By autograd's own thread.
    Autograd,
}

impl Job {
    fn new() -> Self {
        Self { interner: Interner::new(), ops: Vec::new(), requested_bytes: Vec::new(), stacks: Vec::new() }
    }

    fn alloc(&mut self, how: How, bytes: u64) -> BlockId {
        let block = self.requested_bytes.len() as BlockId;
        let stack = self.stack(how);
        self.stacks.push(stack);
        self.requested_bytes.push(bytes);
        self.ops.push(Op::Alloc { block, bytes, stream: 0, pool: PoolId::DEFAULT });
        block
    }

    fn free(&mut self, blocks: impl IntoIterator<Item = BlockId>) {
        for block in blocks {
            self.ops.extend([Op::Free { block }, Op::Complete { block }]);
        }
    }

    fn stack(&mut self, how: How) -> StackId {
        let module = format!("{TORCH}/nn/modules/module.py");
        let main = |line: u32| [("train", SCRIPT, line), ("<module>", SCRIPT, 90)];
        let inside: Vec<(&str, String, u32)> = match how {
            How::Line(_) => Vec::new(),
            How::Layer(_) => vec![
                ("forward", format!("{TORCH}/nn/modules/linear.py"), 134),
                ("_call_impl", module.clone(), 1790),
                ("forward", SCRIPT.to_owned(), 12),
                ("_call_impl", module, 1790),
            ],
            How::Move(_) => vec![("_apply", module.clone(), 965), ("cuda", module, 1097)],
            How::Optimizer => vec![("_init_group", format!("{TORCH}/optim/adam.py"), 180)],
            How::Autograd => return StackId::EMPTY,
        };
        let line = match how {
            How::Line(line) | How::Layer(line) | How::Move(line) => line,
            How::Optimizer | How::Autograd => STEP,
        };
        let calls: Vec<(&str, &str, u32)> =
            inside.iter().map(|(name, file, line)| (*name, file.as_str(), *line)).chain(main(line)).collect();
        self.interner.intern_calls(&calls)
    }

    /// What the allocator makes of it under a limit, as a torch snapshot would show it.
    fn run(self, limit_bytes: u64) -> Trace {
        let requests = Requests::new(self.ops, self.requested_bytes, Config::default());
        let native = policy("native").expect("the native policy exists");
        let options = oomph_heap::Options { limit_bytes: Some(limit_bytes), stop_at_oom: true, ..Default::default() };
        let outcome = replay(native, &requests, &mut BumpSource::new(Order::Ascending, None), &options);
        let mut device = record(&requests, &outcome);
        let mut stacks = self.stacks.iter();
        for event in &mut device.events {
            if matches!(event.action, Action::Alloc | Action::Oom) {
                event.stack = stacks.next().copied().unwrap_or(StackId::MISSING);
            }
            if event.action == Action::Oom {
                event.addr = 100 << 30;
            }
        }
        let mut trace = Trace::new(Origin::TorchSnapshot);
        trace.devices.push(device);
        trace.stacks = self.interner.into_table();
        trace
    }
}

/// The shape of an imaginary job.
#[derive(Clone, Debug)]
struct Shape {
    layers: usize,
    weight_bytes: u64,
    activation_bytes: u64,
    batch_bytes: u64,
    /// Bytes by which the batch of each step differs, in order.
    jitter: Vec<u64>,
}

fn shapes() -> impl Strategy<Value = Shape> {
    (2usize..9, 1u64..16, 1u64..24, 1u64..12, prop::collection::vec(0u64..4096, 1..7)).prop_map(
        |(layers, weight, activation, batch, jitter)| Shape {
            layers,
            weight_bytes: weight * MIB / 2,
            activation_bytes: activation * MIB / 2,
            batch_bytes: batch * MIB / 2,
            jitter,
        },
    )
}

/// What one iteration may keep.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeps {
    Nothing,
    /// The model's output, computed without a graph.
    Output,
    /// The loss, whose graph holds every activation; nothing is trained.
    LossWithGraph,
    /// A copy of the gradients.
    Gradients,
}

struct Loop {
    grads: Vec<BlockId>,
    state: Vec<BlockId>,
    carried: Vec<BlockId>,
}

/// One iteration: batch, forward, loss, backward, step; what is not kept is freed as Python would.
fn iterate(job: &mut Job, shape: &Shape, at: usize, state: &mut Loop, keeps: Keeps, scale: u64) {
    let jitter = shape.jitter[at % shape.jitter.len()] * 512;
    let batch = job.alloc(How::Line(BATCH), shape.batch_bytes * scale + jitter);
    let old = std::mem::take(&mut state.carried);
    let activations: Vec<BlockId> =
        (0..shape.layers).map(|_| job.alloc(How::Layer(FORWARD), shape.activation_bytes * scale + jitter)).collect();
    job.free(old);
    if keeps == Keeps::Output {
        job.free(activations[..shape.layers - 1].iter().copied());
        state.carried.push(batch);
        return;
    }
    let loss = job.alloc(How::Line(LOSS), 4);
    if keeps == Keeps::LossWithGraph {
        return;
    }
    let seed = job.alloc(How::Line(BACKWARD), 4);
    job.free(std::mem::take(&mut state.grads));
    for &activation in activations.iter().rev() {
        let grad = job.alloc(How::Autograd, shape.weight_bytes);
        state.grads.push(grad);
        job.free([activation]);
    }
    job.free([seed]);
    if state.state.is_empty() {
        state.state = (0..2 * shape.layers).map(|_| job.alloc(How::Optimizer, shape.weight_bytes)).collect();
    }
    if keeps == Keeps::Gradients {
        for _ in 0..shape.layers {
            job.alloc(How::Line(KEEP), shape.weight_bytes);
        }
    }
    state.carried.extend([batch, loss]);
}

fn build(job: &mut Job, shape: &Shape) {
    for _ in 0..shape.layers {
        job.alloc(How::Move(BUILD), shape.weight_bytes);
    }
}

fn new_loop() -> Loop {
    Loop { grads: Vec::new(), state: Vec::new(), carried: Vec::new() }
}

/// Bytes a healthy step of the job needs at its peak, generously.
fn healthy_bytes(shape: &Shape) -> u64 {
    let layers = shape.layers as u64;
    let jitter = 4096 * 512;
    layers * (6 * shape.weight_bytes + shape.activation_bytes + jitter) + 4 * (shape.batch_bytes + jitter) + 128 * MIB
}

fn verdict(trace: &Trace) -> Value {
    let report = explain(trace, &Options::default()).expect("a generated trace can be explained");
    render::json::render(&report, 3)
}

fn check(trace: &Trace, class: &str, line: Option<u32>) -> Result<(), TestCaseError> {
    let json = verdict(trace);
    let found = &json["verdict"];
    prop_assert_eq!(found["class"].as_str(), Some(class), "{}", found["summary"]);
    prop_assert_eq!(found["line"].as_u64(), line.map(u64::from), "{}", found["summary"]);
    if class != "none" {
        prop_assert_eq!(found["proof"]["fits_without"].as_bool(), Some(true), "{}", found["proof"]["text"]);
    }
    Ok(())
}

/// A loop that keeps something, run until it dies.
fn leaking(shape: &Shape, keeps: Keeps, kept_bytes_per_step: u64) -> Trace {
    let limit = healthy_bytes(shape) + 12 * kept_bytes_per_step + 64 * MIB;
    let mut job = Job::new();
    build(&mut job, shape);
    let mut state = new_loop();
    let smallest = shape.activation_bytes.min(shape.weight_bytes);
    for at in 0..(limit / smallest + 50) as usize {
        iterate(&mut job, shape, at, &mut state, keeps, 1);
    }
    job.run(limit)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_healthy_loop_raises_no_alarm(shape in shapes()) {
        let mut job = Job::new();
        build(&mut job, &shape);
        let mut state = new_loop();
        for at in 0..12 {
            iterate(&mut job, &shape, at, &mut state, Keeps::Nothing, 1);
        }
        let trace = job.run(u64::MAX / 2);
        prop_assert_eq!(&verdict(&trace)["leaks"], &Value::Array(Vec::new()));
        check(&trace, "none", None)?;
    }

    #[test]
    fn kept_outputs_are_a_leak_of_the_line_that_calls_the_model(shape in shapes()) {
        check(&leaking(&shape, Keeps::Output, shape.activation_bytes + 4096 * 512), "leak", Some(FORWARD))?;
    }

    #[test]
    fn a_kept_loss_is_a_leak_of_the_line_that_made_it(shape in shapes()) {
        let step = shape.layers as u64 * (shape.activation_bytes + 4096 * 512) + shape.batch_bytes;
        check(&leaking(&shape, Keeps::LossWithGraph, step), "leak", Some(LOSS))?;
    }

    #[test]
    fn copied_gradients_are_a_leak_of_the_line_that_copies(shape in shapes()) {
        check(&leaking(&shape, Keeps::Gradients, shape.layers as u64 * shape.weight_bytes), "leak", Some(KEEP))?;
    }

    #[test]
    fn a_structure_copied_as_it_grows_is_growth(row_mib in 1u64..9, limit_mib in 400u64..2000) {
        let mut job = Job::new();
        let mut held: Option<BlockId> = None;
        for at in 1..2000 {
            let row = job.alloc(How::Line(BATCH), row_mib * MIB);
            let whole = job.alloc(How::Line(KEEP), at * row_mib * MIB);
            job.free(held.replace(whole).into_iter().chain([row]));
        }
        check(&job.run(limit_mib * MIB), "growth", Some(KEEP))?;
    }

    #[test]
    fn a_batch_larger_than_all_before_is_too_big(shape in shapes(), steps in 4usize..20) {
        let mut job = Job::new();
        build(&mut job, &shape);
        let mut state = new_loop();
        for at in 0..steps {
            iterate(&mut job, &shape, at, &mut state, Keeps::Nothing, 1);
        }
        // Each activation must stay below what alone would be too large a request.
        let scale = 4 + 2 * healthy_bytes(&shape) / (shape.layers as u64 * shape.activation_bytes);
        iterate(&mut job, &shape, steps, &mut state, Keeps::Nothing, scale);
        let trace = job.run(healthy_bytes(&shape) + shape.batch_bytes * scale + shape.activation_bytes * scale);
        let json = verdict(&trace);
        prop_assert_eq!(json["verdict"]["class"].as_str(), Some("too_big"), "{}", json["verdict"]["summary"]);
    }

    #[test]
    fn one_giant_tensor_is_too_large_a_request(shape in shapes(), factor in 1u64..40) {
        let limit = healthy_bytes(&shape);
        let mut job = Job::new();
        build(&mut job, &shape);
        let mut state = new_loop();
        for at in 0..5 {
            iterate(&mut job, &shape, at, &mut state, Keeps::Nothing, 1);
        }
        job.alloc(How::Line(AFTER), 3 * limit + factor * limit / 4);
        check(&job.run(limit), "request_too_large", Some(AFTER))?;
    }

    #[test]
    fn holes_between_survivors_are_fragmentation(pin_mib in 2u64..5, gap_mib in 14u64..60, count in 12u64..40) {
        // Pairs fill whole segments of their own; then the large halves go and the small ones stay.
        let mut job = Job::new();
        let mut large = Vec::new();
        for _ in 0..count {
            let whole = job.alloc(How::Line(BATCH), (gap_mib + pin_mib) * MIB);
            job.free([whole]);
            large.push(job.alloc(How::Line(FORWARD), gap_mib * MIB));
            job.alloc(How::Line(KEEP), pin_mib * MIB);
        }
        job.free(large);
        job.alloc(How::Line(AFTER), count * gap_mib * MIB / 2);
        let segment_mib = (gap_mib + pin_mib).div_ceil(2) * 2;
        check(&job.run(count * segment_mib * MIB), "fragmentation", None)?;
    }
}

/// The driver refuses a job while something else holds the card; the recorder knows how large the card is.
fn crowded_card(other_process_bytes: Option<u64>) -> Trace {
    let shape = Shape { layers: 3, weight_bytes: MIB, activation_bytes: MIB, batch_bytes: MIB, jitter: vec![0] };
    let mut job = Job::new();
    build(&mut job, &shape);
    let mut state = new_loop();
    for at in 0..4 {
        iterate(&mut job, &shape, at, &mut state, Keeps::Nothing, 1);
    }
    job.alloc(How::Line(AFTER), 200 * MIB);
    let mut trace = job.run(128 * MIB);
    let device = &mut trace.devices[0];
    device.total_bytes = Some(24 << 30);
    device.limit_bytes = None;
    device.other_process_bytes = other_process_bytes;
    for event in device.events.iter_mut().filter(|event| event.action == Action::Oom) {
        event.addr = 3 * MIB;
    }
    trace
}

#[test]
fn a_card_held_by_others_is_told_from_one_held_outside_pytorch() {
    for (others, class) in [(None, "outside_pytorch"), (Some(22 << 30), "other_process")] {
        let json = verdict(&crowded_card(others));
        assert_eq!(json["verdict"]["class"], class, "{}", json["verdict"]["summary"]);
        assert_eq!(json["verdict"]["proof"]["fits_without"], true);
    }
}
