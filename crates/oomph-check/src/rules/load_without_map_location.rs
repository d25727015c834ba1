//! `load-without-map-location`: a checkpoint comes back to the card it was saved from.

use crate::analysis::events::{BlockKind, Call};
use crate::facts::Facts;
use crate::finding::{Level, Safety};
use crate::python::{Expr, ExprCall};
use crate::report::Report;
use crate::rule::{Example, Group, Rule};
use crate::uses::uses_in;

pub(super) static RULE: Rule = Rule {
    name: "load-without-map-location",
    group: Group::Data,
    level: Level::Warning,
    fix: Some(Safety::Safe),
    summary: "A checkpoint is loaded without saying where its tensors are to go.",
    why: "`torch.load` puts every tensor back on the device it was saved from. With several processes all of them put a \
          copy on GPU 0 and open a context there; with one, a second copy of the weights sits beside the model.",
    cost: "All parameters, and twice that again for an optimizer's state, on the wrong GPU, plus a CUDA context a \
           process there.",
    instead: "`torch.load(path, map_location=\"cpu\")`: `load_state_dict` copies to where the parameters are. Add \
              `mmap=True` to spare main memory too.",
    when_not: "The checkpoint was saved from the CPU.",
    examples: &[
        Example {
            bad: "\
import torch

def resume(model, path):
    model.load_state_dict(torch.load(path))
    return model.cuda()
",
            good: "\
import torch

def resume(model, path):
    model.load_state_dict(torch.load(path, map_location=\"cpu\"))
    return model.cuda()
",
        },
        Example {
            bad: "\
import torch

def resume(model, optimizer, args):
    checkpoint = torch.load(args.resume)
    model.load_state_dict(checkpoint['model'])
    optimizer.load_state_dict(checkpoint['optimizer'])
    model.to('cuda')
    return checkpoint['epoch']
",
            good: "\
import torch

def resume(model, optimizer, args):
    checkpoint = torch.load(args.resume, map_location='cpu')
    model.load_state_dict(checkpoint['model'])
    optimizer.load_state_dict(checkpoint['optimizer'])
    model.to('cuda')
    return checkpoint['epoch']
",
        },
    ],
    silent_on: &[
        "\
import torch

model.load_state_dict(torch.load('model.pt'))
print(model(torch.zeros(1, 8)))
",
        "\
import torch

features = torch.load('features.pt')
model.cuda()(features)
",
        "\
import io
import torch

buffer = io.BytesIO()
torch.save(model.state_dict(), buffer)
buffer.seek(0)
model.cuda().load_state_dict(torch.load(buffer))
",
        "\
import torch

def load(model, path, **options):
    model.cuda().load_state_dict(torch.load(path, **options))
",
        "\
import torch

if torch.cuda.is_available():
    state = torch.load('model.pt')
else:
    state = torch.load('model.pt', map_location='cpu')
model.load_state_dict(state)
",
    ],
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() {
        return;
    }
    let gpu = facts.calls().iter().find(|call| uses_gpu(facts, call));
    let Some(gpu) = gpu else { return };
    for call in facts.calls_to("torch.load") {
        let says_where = call.keyword("map_location").is_some() || call.args.len() > 1 || call.has_star();
        if says_where || is_in_memory(facts, call) || is_under_device_test(facts, call) {
            continue;
        }
        let Some((load, copies_only)) = goes_into_state(facts, call) else { continue };
        let path = call.arg(0).map_or("the checkpoint", |path| facts.written(path));
        let finding = report
            .add(call, format!("`{path}` is loaded onto the card it was saved from, beside the model's own copy"));
        finding
            .because(&call.node.arguments, "no `map_location`")
            .because(load, "the tensors are only copied into parameters")
            .because(gpu, "this program uses the GPU");
        let edits = facts.add_argument(call, "map_location=\"cpu\"");
        if copies_only {
            finding.safe_fix("Load to the CPU", edits);
        } else {
            finding.unsafe_fix("Load to the CPU", edits);
        }
    }
}

fn uses_gpu(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    facts.moves_to_gpu(call) || call.name == "set_device" || call.name == "init_process_group"
}

/// Whether what is loaded was saved by this program, in memory.
fn is_in_memory(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let text = call.arg(0).map_or("", |path| facts.written(path)).to_ascii_lowercase();
    ["buffer", "bytesio", "stream", "buf"].iter().any(|word| text.contains(word))
}

/// Whether the program asks for a GPU first and may load differently without one.
fn is_under_device_test(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    facts.blocks_around(&call.at).any(|(_, block)| match block.kind {
        BlockKind::If(Some(test)) | BlockKind::Else(test) => {
            let asked = facts.written(test);
            ["cuda", "gpu", "cpu", "device"].iter().any(|word| asked.contains(word))
        }
        _ => false,
    })
}

/// The `load_state_dict` that what is loaded goes into, and whether it goes nowhere else.
fn goes_into_state<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<(&'a ExprCall, bool)> {
    if let Some(load) = facts.around(call).into_iter().find_map(load_state_dict) {
        return Some((load, copies(load)));
    }
    let name = facts.bound_name(call)?;
    let uses = uses_in(facts.body_around(&call.at), name);
    let load = uses.iter().flat_map(crate::uses::Use::calls).find(|call| is_load_state_dict(call))?;
    let everywhere = uses.iter().all(|found| found.calls().any(|call| is_load_state_dict(call) && copies(call)));
    Some((load, everywhere && call.at.function.is_some()))
}

fn load_state_dict(expr: &Expr) -> Option<&ExprCall> {
    match expr {
        Expr::Call(call) if is_load_state_dict(call) => Some(call),
        _ => None,
    }
}

fn is_load_state_dict(call: &ExprCall) -> bool {
    matches!(&*call.func, Expr::Attribute(method) if method.attr.as_str() == "load_state_dict")
}

fn copies(call: &ExprCall) -> bool {
    !call.arguments.keywords.iter().any(|keyword| keyword.arg.as_ref().is_none_or(|name| name.as_str() == "assign"))
}
