//! `load-without-map-location`: a checkpoint comes back to the card it was saved from.

use crate::analysis::events::{BlockKind, Call, Callee, Return};
use crate::analysis::tables::ClassKind;
use crate::analysis::value::{FunctionId, Kind};
use crate::facts::{Facts, FunctionKind};
use crate::finding::Safety;
use crate::loaded::is_no_network;
use crate::python::{Expr, ExprCall, Ranged, Stmt, TextRange, root_name};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{Use, last_name, parts_of, uses_in};

pub(super) static RULE: Rule = Rule {
    name: "load-without-map-location",
    group: Group::Data,
    size: Size::once(Amount::Model),
    is_opportunity: false,
    fix: Some(Safety::Safe),
    summary: "A checkpoint is loaded without saying where its tensors are to go.",
    why: "`torch.load` puts every tensor back on the device it was saved from. With several processes all of them put a \
          copy on GPU 0 and open a context there; with one, a second copy of the weights sits beside a model that is on \
          the GPU already, or stays there as long as the loaded dict has a name.",
    cost: "All parameters, and twice that again for an optimizer's state, on the wrong GPU, plus a CUDA context a \
           process there.",
    instead: "`torch.load(path, map_location=\"cpu\")`: `load_state_dict` copies to where the parameters are. Add \
              `mmap=True` to spare main memory too.",
    when_not: "The checkpoint was saved from the CPU. Or one process loads it into a model that is still on the CPU, and \
               keeps no name for it: the copy is gone before the model comes to the GPU, and the finding is `info`.",
    programs: include_str!("load_without_map_location.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() || facts.calls_to("torch.load").next().is_none() {
        return;
    }
    let gpu = facts.calls().iter().find(|call| uses_gpu(facts, call) && !facts.never_runs(&call.at));
    for call in facts.calls_to("torch.load") {
        let says_where = call.keyword("map_location").is_some() || call.args.len() > 1 || call.has_star();
        if says_where || is_no_checkpoint(facts, call) || facts.is_published(call) || is_under_device_test(facts, call)
        {
            continue;
        }
        if facts.is_from_cpu(call) || is_folder(facts, call) || facts.never_runs(&call.at) {
            continue;
        }
        // A model that loads its own weights is a library: its users have GPUs.
        if gpu.is_none() && facts.class_kind(&call.at) != ClassKind::Module {
            continue;
        }
        let path = call.arg(0).map_or("the checkpoint", |path| facts.written(path));
        let path = if path.contains('\n') || path.len() > 60 { "the checkpoint" } else { path };
        let of_program = gpu.map(Ranged::range);
        if let Some((load, copies_only)) = goes_into_state(facts, call) {
            if facts.is_borrowed(load)
                || is_engine(facts, call, load)
                || facts.is_for_model_on_cpu(call, load)
                || facts.is_part_saved_from_cpu(call, load)
                || facts.rests_on_cpu(call, load)
            {
                continue;
            }
            let doubtful = gpu.is_none() || is_part_of_model(facts, call, load);
            if doubtful && !is_own_checkpoint(facts, call, load) {
                continue;
            }
            let moves_data = gpu.is_some() && only_data_moves(facts) && facts.is_never_moved(call, load);
            let whole = facts.optimizer_taken_whole(call);
            let copy = facts.second_copy(call, load);
            let finding = report.add(call, message(path, copy.is_some()));
            finding
                .size(if copy.is_some() { RULE.size } else { Size::once(Amount::Small) })
                .doubtful_if(moves_data || whole.is_some())
                .because(&call.node.arguments, "no `map_location`")
                .because(load, if copies_only { "the tensors are only copied into parameters" } else { COPIED })
                .because_if(whole, "an optimizer that was saved whole goes on where it lands")
                .because_if(copy.map(|copy| copy.range), copy.map_or("", |copy| copy.text))
                .because_if(of_program.filter(|_| copy.is_none()), "this program uses the GPU");
            let edits = facts.add_argument(call, "map_location=\"cpu\"");
            if copies_only {
                finding.safe_fix("Load to the CPU", edits);
            } else {
                finding.unsafe_fix("Load to the CPU", edits);
            }
        } else if let (Some(used), Some(gpu)) = (is_whole_model(facts, call), gpu) {
            let copies = facts.copy_in_each_process(call);
            report
                .add(call, format!("`{path}` is loaded onto the card it was saved from, whichever that was"))
                .size(if copies.is_some() { RULE.size } else { Size::once(Amount::Small) })
                .because(&call.node.arguments, "no `map_location`")
                .because(&used, "a whole model, used where it lands")
                .because_if(copies.map(|copy| copy.range), copies.map_or("", |copy| copy.text))
                .because(gpu, "this program uses the GPU");
        }
    }
}

/// What is loaded lies beside the model's copy, or is gone before the model comes there.
fn message(path: &str, is_beside: bool) -> String {
    let rest = if is_beside { "beside the model's own copy" } else { "and is gone once it is copied" };
    format!("`{path}` is loaded onto the card it was saved from, {rest}")
}

/// Said where other entries of the checkpoint go elsewhere.
const COPIED: &str = "the weights are copied into parameters that have their place already";

/// Whether a model loads, without a word of a GPU, what training has saved: its file saves too, it takes one part of
/// what is loaded, or the path says so. A constructor loads what others have published.
fn is_own_checkpoint(facts: &Facts<'_>, call: &Call<'_>, load: &ExprCall) -> bool {
    let part = load.arguments.args.first().is_some_and(Expr::is_subscript_expr);
    let constructs = matches!(facts.kind_at(&call.at), FunctionKind::Init);
    let path = call.arg(0).map_or("", |path| facts.written(path)).to_ascii_lowercase();
    let told = ["resume", "checkpoint", "ckpt", "start_from"].iter().any(|word| path.contains(word));
    loads_itself(facts, load) && !constructs && (part || told || facts.outline().saves)
}

/// Whether a model fetches weights for itself from a file of its own choice, or as one of its methods: they may be
/// anybody's. What its constructor is given comes from the program.
fn is_part_of_model(facts: &Facts<'_>, call: &Call<'_>, load: &ExprCall) -> bool {
    let given = || {
        let parameters = facts.function(&call.at).map(|function| &function.node.parameters);
        let name = call.arg(0).and_then(root_name);
        parameters.zip(name).is_some_and(|(parameters, name)| parameters.includes(name))
    };
    let constructs = matches!(facts.kind_at(&call.at), FunctionKind::Init);
    let itself = facts.class_kind(&call.at) == ClassKind::Module && loads_itself(facts, load);
    itself && !(constructs && given())
}

fn loads_itself(facts: &Facts<'_>, load: &ExprCall) -> bool {
    facts.written(load).starts_with("self.load_state_dict")
}

fn uses_gpu(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    facts.goes_to_gpu(call)
        || call.name == "set_device"
        || call.name == "init_process_group" && facts.written(call).contains("nccl")
}

/// Whether all that the file brings to the GPU is data: that says nothing of where a model was when it was saved.
fn only_data_moves(facts: &Facts<'_>) -> bool {
    let is_data = |call: &Call<'_>| call.receiver.as_ref().is_some_and(|value| value.kind == Kind::Tensor);
    facts.calls().iter().filter(|call| uses_gpu(facts, call)).all(is_data)
}

/// Where what is loaded is used as a model, when the program leaves it on whatever device it comes back to.
fn is_whole_model(facts: &Facts<'_>, call: &Call<'_>) -> Option<TextRange> {
    // What the same program has saved is wanted where it was.
    if facts.outline().saves {
        return None;
    }
    let name = facts.bound_name(call)?;
    let uses = uses_in(facts.body_around(&call.at), name);
    let method = |found: &Use<'_>| match (found.around.first(), found.around.get(1)) {
        (Some(Expr::Attribute(method)), Some(Expr::Call(_))) => Some(method.attr.as_str().to_owned()),
        _ => None,
    };
    let methods: Vec<String> = uses.iter().filter_map(method).collect();
    let has = |names: &[&str]| methods.iter().any(|found| names.contains(&found.as_str()));
    let moved = has(&["to", "cuda", "cpu"]);
    let model = has(&["eval", "train", "parameters", "named_parameters", "requires_grad_"]);
    let called = uses.iter().find(
        |found| matches!(found.around.first(), Some(Expr::Call(made)) if made.func.range() == found.name.range()),
    );
    called.filter(|_| model && !moved).map(|found| found.name.range())
}

/// Whether what is loaded was saved in memory.
fn is_no_checkpoint(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let text = call.arg(0).map_or("", |path| facts.written(path)).to_ascii_lowercase();
    ["buffer", "bytesio", "stream", "buf"].iter().any(|word| text.contains(word))
}

/// Whether the file holds an engine of `TensorRT` or numbers for the CPU, whatever its name: no tensors for a card.
fn is_engine(facts: &Facts<'_>, call: &Call<'_>, load: &ExprCall) -> bool {
    let Expr::Attribute(method) = &*load.func else { return false };
    let made = last_name(&method.value).into_iter().flat_map(|name| facts.given_at(name, &call.at));
    let path = call.arg(0).map(|path| facts.written(path));
    let texts = path.into_iter().chain([facts.written(&*method.value)]).chain(made.map(|expr| facts.written(expr)));
    let special = |text: &str| {
        let text = text.to_ascii_lowercase();
        ["trt", "int8", "quantized"].iter().any(|word| text.contains(word))
    };
    // `load_quant(model, checkpoint, wbits)`: packed weights are written from the CPU.
    texts.into_iter().any(special) || facts.function_name(&call.at).contains("quant")
}

/// Whether the path is one of a list of folders: that cannot be loaded at all.
fn is_folder(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let Some(name) = call.arg(0).and_then(last_name) else { return false };
    let says_folder = |text: &str| {
        let text = text.trim_end_matches([')', ']']).to_ascii_lowercase();
        text.ends_with("dir") || text.ends_with("folder") || text.contains("dirname(")
    };
    let turns = facts.loops(&call.at).filter_map(|turns| match turns.node {
        BlockKind::Loop(_, Stmt::For(node)) if last_name(&node.target) == Some(name) => last_name(&node.iter),
        _ => None,
    });
    let mut items = turns.flat_map(|items| facts.given_at(items, &call.at));
    items.any(|expr| says_folder(facts.written(expr)))
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
    if let Some(load) = facts.around(call).into_iter().find_map(|outer| load_state_dict(facts, outer)) {
        return Some((load, copies(load)));
    }
    if let Some(found) = given_back(facts, call) {
        return Some((found, false));
    }
    let part = || facts.carried_by(call).filter(|_| !facts.may_be_published(call));
    let name = facts.bound_name(call).or_else(part)?;
    let body = facts.body_around(&call.at);
    // What another branch loads under the same name goes elsewhere.
    let follows = |found: &Use<'a>| facts.is_read_at(call, found);
    let uses: Vec<Use<'a>> = uses_in(body, name).into_iter().filter(follows).collect();
    let through_part = || {
        let further = if facts.may_be_published(call) { Vec::new() } else { facts.carriers_of(name, call) };
        let carriers = parts_of(body, name).into_iter().chain(further);
        let parts = carriers.flat_map(|part| uses_in(body, part)).filter(follows);
        parts.flat_map(|found| found.calls().collect::<Vec<_>>()).find(|call| is_load_state_dict(facts, call))
    };
    let mut calls = uses.iter().flat_map(Use::calls);
    let load = calls.find(|call| is_load_state_dict(facts, call)).or_else(through_part)?;
    if facts.is_model_of(name, load, &call.at) {
        return None;
    }
    let everywhere = uses.iter().all(|found| found.calls().any(|call| is_load_state_dict(facts, call) && copies(call)));
    Some((load, everywhere && call.at.function.is_some()))
}

/// The `load_state_dict` that takes what a function of this file loads and returns as it is.
fn given_back<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<&'a ExprCall> {
    let function = call.at.function?;
    let returns = |found: &&Return<'_>| found.at.function == Some(function) && found.expr.range() == call.node.range();
    facts.returns().iter().find(returns)?;
    let id = FunctionId { file: facts.file_index(), index: function };
    let mut callers = facts
        .calls()
        .iter()
        .filter(|caller| caller.callee == Callee::Project(id) && caller.at.function != Some(function));
    callers.find_map(|caller| goes_into_state(facts, caller)).map(|(load, _)| load)
}

fn load_state_dict<'e>(facts: &Facts<'_>, expr: &'e Expr) -> Option<&'e ExprCall> {
    match expr {
        Expr::Call(call) if is_load_state_dict(facts, call) => Some(call),
        _ => None,
    }
}

/// Whether it is `load_state_dict` of something that copies: an optimizer shares what is already in place.
fn is_load_state_dict(facts: &Facts<'_>, call: &ExprCall) -> bool {
    match &*call.func {
        Expr::Attribute(method) => {
            let holder = facts.written(&*method.value).to_ascii_lowercase();
            let shares = is_no_network(&holder) || facts.is_of_plain_object(call);
            method.attr.as_str() == "load_state_dict" && !shares
        }
        _ => false,
    }
}

fn copies(call: &ExprCall) -> bool {
    !call.arguments.keywords.iter().any(|keyword| keyword.arg.as_ref().is_none_or(|name| name.as_str() == "assign"))
}
