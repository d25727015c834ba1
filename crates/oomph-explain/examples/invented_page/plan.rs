//! A plan that was never made: a small language model, trained for three steps and validated, on a card with room or
//! one without.

use oomph_explain::html::{BytesOf, CardFit, CardRow, ModuleRow, PlanPage};
use oomph_trace::{Category, Origin, Trace, TraceBuilder};

const BASE: u64 = 0x7f00_0000_0000;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const LAYERS: u64 = 12;
const LAYER_BYTES: u64 = 400 * MIB;
const ACTIVATION_BYTES: u64 = 1700 * MIB;

/// The script, whose lines the stacks name.
pub(crate) const SCRIPT: &str = "\
import torch
from model import LanguageModel

model = LanguageModel(layers=12).cuda()
optimizer = torch.optim.AdamW(model.parameters())

for step, (tokens, targets) in enumerate(loader):
    logits = model(tokens.cuda())
    loss = F.cross_entropy(logits.flatten(0, 1), targets.cuda())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()

evaluate(model, validation)
";

/// A frame as [`TraceBuilder`] takes it.
type Call = (&'static str, &'static str, u32);

/// What a plan puts around the script and around torch's functions.
const OOMPH: &str = "/tmp/oomph-plan-1/site-packages/oomph/hollow/following.py";

/// A stack as a plan records it: torch's function inside, oomph's start outside.
fn stack_at(function: &'static str, line: u32) -> Vec<Call> {
    vec![
        ("linear", "/usr/lib/python3/site-packages/torch/nn/functional.py", 125),
        ("follow", OOMPH, 80),
        (function, "train.py", line),
        ("run", "/tmp/oomph-plan-1/site-packages/oomph/launch.py", 32),
        ("<module>", "/tmp/oomph-plan-1/site-packages/__main__.py", 22),
        ("_run_code", "<frozen runpy>", 88),
    ]
}

/// Writes events one after the other; each block has a segment of its own, which is used again for blocks that fit into it.
struct Job {
    builder: TraceBuilder,
    time_us: u64,
    capacity_bytes: u64,
    reserved_bytes: u64,
    free: Vec<(u64, u64)>,
    has_died: bool,
}

impl Job {
    fn take(&mut self, category: Category, bytes: u64, line: u32) -> (u64, u64) {
        self.time_us += 10;
        let stack = stack_at("<module>", line);
        if self.has_died {
            return (BASE, 0);
        }
        let has_room = self.reserved_bytes + bytes <= self.capacity_bytes;
        let free = self.free.iter().position(|&(_, free)| free >= bytes).map(|at| self.free.remove(at));
        self.builder.category(category).at(self.time_us);
        if free.is_none() && !has_room {
            self.builder.oom(bytes, self.capacity_bytes - self.reserved_bytes, &stack);
            self.has_died = true;
            return (BASE, 0);
        }
        let (address, _) = free.unwrap_or_else(|| {
            let address = BASE + self.reserved_bytes;
            self.builder.segment_alloc(address, bytes, &stack);
            self.reserved_bytes += bytes;
            (address, bytes)
        });
        self.builder.alloc(address, bytes, &stack);
        (address, bytes)
    }

    fn give_back(&mut self, (address, bytes): (u64, u64)) {
        if !self.has_died {
            self.time_us += 10;
            self.builder.at(self.time_us).free(address, bytes, &[]);
            // What a smaller block leaves of its segment is not used again: it makes no difference to what is shown.
            self.free.push((address, bytes));
        }
    }

    fn begin(&mut self, name: &str) {
        if !self.has_died {
            self.time_us += 1;
            self.builder.at(self.time_us).mark_start(name);
        }
    }

    fn end(&mut self, name: &str) {
        if !self.has_died {
            self.time_us += 1;
            self.builder.at(self.time_us).mark_end(name);
        }
    }

    fn train(&mut self, is_first: bool) {
        let activations: Vec<_> = (0..LAYERS).map(|_| self.take(Category::Activation, ACTIVATION_BYTES, 8)).collect();
        self.begin("backward");
        let mut gradients = Vec::new();
        for activation in activations.into_iter().rev() {
            gradients.push(self.take(Category::Gradient, LAYER_BYTES, 10));
            self.give_back(activation);
        }
        self.end("backward");
        self.begin("optimizer");
        for _ in 0..if is_first { 2 * LAYERS } else { 0 } {
            self.take(Category::Optimizer, LAYER_BYTES, 11);
        }
        self.end("optimizer");
        for gradient in gradients {
            self.give_back(gradient);
        }
    }

    fn validate(&mut self) {
        self.begin("validation");
        for _ in 0..3 {
            let activations: Vec<_> =
                (0..LAYERS).map(|_| self.take(Category::Activation, ACTIVATION_BYTES / 3, 14)).collect();
            for activation in activations {
                self.give_back(activation);
            }
        }
        self.end("validation");
    }
}

/// The history of the invented job.
pub(crate) fn trace(capacity_bytes: u64) -> Trace {
    let mut builder = TraceBuilder::new(Origin::HollowRun);
    builder.capacity(capacity_bytes, None);
    let mut job = Job { builder, time_us: 1, capacity_bytes, reserved_bytes: 0, free: Vec::new(), has_died: false };
    for _ in 0..LAYERS {
        job.take(Category::Parameter, LAYER_BYTES, 4);
    }
    for step in 1..=3 {
        job.begin(&format!("step {step}"));
        job.train(step == 1);
    }
    job.validate();
    job.builder.finish()
}

/// The answer that goes with it.
pub(crate) fn answer(capacity_bytes: u64, fits: bool) -> PlanPage {
    let (card_title, sentence) = if fits {
        ("H100 80GB HBM3", "Fits the H100 80GB HBM3: takes 36.41GiB of its 79.19GiB.")
    } else {
        ("RTX 4090", "Does not fit the RTX 4090: it has 23.64GiB, and the job runs in no less than 35.10GiB.")
    };
    let bytes_of = |(what, bytes): (&str, u64)| BytesOf { what: what.to_owned(), bytes };
    let module = |(path, count, bytes): (&str, usize, u64)| ModuleRow { path: path.to_owned(), count, bytes };
    PlanPage {
        fitted: None,
        sentence: sentence.to_owned(),
        fits,
        card_title: card_title.to_owned(),
        capacity_bytes,
        roomy_bytes: Some(36 * GIB + 420 * MIB),
        least_bytes: Some(35 * GIB + 100 * MIB),
        seen: "3 of 1,250 training steps, 3 of 40 validation batches, 1 of 10 epochs".to_owned(),
        growth: fits.then(|| {
            "train.py:9 keeps 153.53MiB from every iteration: out of memory after about 360 iterations on this card; \
             the loop has 1,250."
                .to_owned()
        }),
        cards: cards(),
        peak_moment: "at the peak, in the backward pass of step 2".to_owned(),
        categories: [
            ("parameters", LAYERS * LAYER_BYTES),
            ("gradients", LAYER_BYTES),
            ("optimizer", 2 * LAYERS * LAYER_BYTES),
            ("activations", LAYERS * ACTIVATION_BYTES),
            ("workspace", 0),
            ("input", 64 << 10),
        ]
        .map(bytes_of)
        .to_vec(),
        modules: [
            ("layers.*.mlp", 12, 22 * GIB),
            ("layers.*.attention", 12, 8 * GIB),
            ("head", 1, 2 * GIB),
            ("embed", 1, 900 * MIB),
        ]
        .map(module)
        .to_vec(),
        unknown: vec![
            "train.py:12 reads values from the card (2 times); it got zeros.".to_owned(),
            "the workspace of cuDNN's attention is an estimate fitted to measurements.".to_owned(),
        ],
        advice: if fits { Vec::new() } else { vec!["Halve the batch and accumulate twice as often.".to_owned()] },
        command_line: "oomph plan --gpu rtx_4090 train.py --batch 8".to_owned(),
        environment: "torch 2.11.0, CUDA 13.0, Python 3.11".to_owned(),
    }
}

fn cards() -> Vec<CardRow> {
    let card = |(name, capacity_bytes, fit): (&str, u64, CardFit)| CardRow {
        name: name.to_owned(),
        capacity_bytes,
        fit,
        planned: matches!(name, "rtx_4090" | "h100_sxm"),
    };
    [
        ("h100_sxm", 79 * GIB, CardFit::Fits),
        ("t4", 15 * GIB, CardFit::DoesNotFit),
        ("l4", 22 * GIB, CardFit::DoesNotFit),
        ("rtx_4090", 23 * GIB + 655 * MIB, CardFit::DoesNotFit),
        ("rtx_5090", 31 * GIB, CardFit::DoesNotFit),
        ("invented_36gb", 35 * GIB + 300 * MIB, CardFit::Close),
        ("a100_40gb", 39 * GIB, CardFit::Fits),
    ]
    .map(card)
    .to_vec()
}
