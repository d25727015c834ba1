//! `ddp-without-set-device`: every rank opens a context on GPU 0.

use crate::analysis::events::Call;
use crate::analysis::outline::Usage;
use crate::facts::Facts;
use crate::python::{Expr, Ranged, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{last_name, string_of, whole_literal};

pub(super) static RULE: Rule = Rule {
    name: "ddp-without-set-device",
    group: Group::Distributed,
    size: Size::once(Amount::Model),
    is_opportunity: false,
    fix: None,
    summary: "Processes use \"the GPU\" without having chosen one each.",
    why: "`.cuda()` and `device=\"cuda\"` mean the current device, which is GPU 0 in every process until \
          `torch.cuda.set_device` says otherwise. So do barriers, `torch.cuda.empty_cache()` and other calls that \
          name no device. All ranks put a context on it, and their tensors.",
    cost: "A CUDA context, about half a gigabyte, on GPU 0 for every other rank, and whatever they allocate there.",
    instead: "`torch.cuda.set_device(local_rank)` as the first line of each process, before anything touches CUDA.",
    when_not: "A launcher gives each process one GPU through `CUDA_VISIBLE_DEVICES`.",
    programs: include_str!("ddp_without_set_device.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let mut starts = facts.calls_named("init_process_group").filter(|call| is_nccl(facts, call)).peekable();
    // A notebook is one process: what it starts runs elsewhere.
    if starts.peek().is_none() || chooses_device(facts) || !facts.source.cells.is_empty() {
        return;
    }
    let Some(start) = starts.next() else { return };
    if let Some(touch) = facts.calls().iter().find(|call| means_current_device(facts, call)) {
        let text = facts.written(touch);
        let text = text.lines().next().unwrap_or(text);
        report
            .add(touch, format!("`{text}` uses GPU 0 in every process: none of them has chosen its own"))
            .because(start, "one process a GPU starts here")
            .because(&start.range(), "`torch.cuda.set_device` is called nowhere in the program");
    } else if wraps_model(facts) {
        let asks = facts.calls().iter().find_map(|call| asks_for_current(facts, call));
        report
            .add(start, "No process chooses its GPU: whatever asks for \"the current one\" opens a context on GPU 0")
            .doubtful_if(asks.is_none())
            .because_if(asks, "this asks for the current one")
            .because(start, "one process a GPU starts here, for `DistributedDataParallel`")
            .because(&start.range(), "`torch.cuda.set_device` is called nowhere in the program");
    }
}

/// Whether the group is one of GPUs.
fn is_nccl(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let backend = call.keyword("backend").or_else(|| call.arg(0));
    let of_torch = facts.full_name(call).is_some_and(|name| name.starts_with("torch.distributed"));
    let alone = call.keyword("world_size").and_then(whole_literal) == Some(1);
    let given = call.keyword("device_id").is_some() || call.has_star() || alone;
    let names = |expr: &Expr| facts.written(expr).contains("nccl");
    of_torch
        && !given
        && backend.is_some_and(|expr| match expr {
            Expr::Name(_) | Expr::Attribute(_) => facts.given_to(last_name(expr).unwrap_or_default()).any(names),
            _ => names(expr),
        })
}

/// Libraries that give each process its GPU.
const LAUNCHERS: &[&str] = &["accelerate", "deepspeed", "ray", "horovod", "lightning", "pytorch_lightning"];

/// Whether a file of the program chooses a device, or leaves that to the environment or to a library.
fn chooses_device(facts: &Facts<'_>) -> bool {
    let files = facts.outlines_of_process();
    let sets = |name: &str| files.iter().any(|outline| outline.usage(name).any(Usage::CALLED));
    let text = &facts.source.text;
    let context = facts.withs().iter().any(|item| facts.written(item.expr).contains("cuda.device("));
    let launched = files.iter().flat_map(|outline| outline.imports.values()).any(|full| {
        let root = full.split('.').next().unwrap_or_default();
        LAUNCHERS.contains(&root)
    });
    ["set_device", "set_default_device", "set_device_index"].into_iter().any(sets)
        || text.contains("CUDA_VISIBLE_DEVICES")
        || context
        || launched
}

/// Whether the program wraps a model for one process a GPU.
fn wraps_model(facts: &Facts<'_>) -> bool {
    const DDP: &str = "DistributedDataParallel";
    facts.outlines_of_process().iter().any(|outline| {
        let aliases = outline.imports.iter().filter(|(_, full)| full.ends_with(".DistributedDataParallel"));
        aliases.map(|(name, _)| *name).chain([DDP]).any(|name| outline.usage(name).any(Usage::CALLED))
    })
}

/// A call that opens a context on the current device though it puts nothing there: an emptied cache. A loader's pinned
/// memory is no such call: it takes the context that is there once the model has gone to its rank.
fn asks_for_current(facts: &Facts<'_>, call: &Call<'_>) -> Option<TextRange> {
    const CURRENT: &[&str] =
        &["torch.cuda.empty_cache", "torch.cuda.synchronize", "torch.cuda.mem_get_info", "torch.cuda.Stream"];
    let by_name = facts.full_name(call).is_some_and(|name| CURRENT.contains(&name)) && call.node.arguments.is_empty();
    by_name.then(|| call.range())
}

/// Whether a call uses the current device, whatever that is.
fn means_current_device(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let plain = |device: &Expr| {
        let text = facts.written(device).replace(['"', '\''], "");
        text == "cuda" || text == "torch.device(cuda)" || text.contains("cuda if ")
    };
    let named = |device: &Expr| {
        let mut binds = facts.binds_of(last_name(device).unwrap_or_default()).peekable();
        binds.peek().is_some() && binds.all(|bind| bind.value_expr.is_some_and(plain))
    };
    let bare = |device: &Expr| string_of(device) == Some("cuda") || named(device);
    let receiver_is_value = call.receiver.is_some() && facts.full_name(call).is_none();
    match call.name {
        "cuda" => {
            receiver_is_value
                && call.node.arguments.is_empty() | call.keyword("non_blocking").is_some()
                && call.args.is_empty()
        }
        "to" => receiver_is_value && call.arg(0).is_some_and(bare),
        "all_gather_object" | "broadcast_object_list" | "gather_object" => {
            facts.full_name(call).is_some_and(|name| name.starts_with("torch.distributed"))
                && call.keyword("device").is_none()
        }
        _ => facts.makes_on_gpu(call) && call.keyword("device").is_some_and(bare),
    }
}
