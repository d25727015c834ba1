//! `alloc-conf-set-too-late`: the allocator's settings change after it has read them.

use crate::analysis::events::{At, Call, StoreKind};
use crate::analysis::value::{Device, Kind};
use crate::facts::Facts;
use crate::finding::{Edit, Safety};
use crate::python::ast::Keyword;
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::questions::string_literal;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "alloc-conf-set-too-late",
    group: Group::Allocator,
    size: Size::per_batch(Amount::Batch).wasted(),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "The allocator's environment variable is set after CUDA has started.",
    why: "PyTorch reads `PYTORCH_CUDA_ALLOC_CONF` once, when CUDA starts in the process. A later assignment changes the \
          environment of child processes and nothing else.",
    cost: "The setting is ignored: the fragmentation it was to cure goes on.",
    instead: "Set the variable in the shell or the launcher, or at the top of the script before `import torch`.",
    when_not: "The variable is meant for processes started afterwards.",
    programs: include_str!("alloc_conf_set_too_late.py"),
    check,
};

/// The names the variable has had.
pub(super) const VARIABLES: &[&str] = &["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"];

/// Where the variable is set: the text to blame, the value, the point.
pub(super) struct Setting<'f, 'a> {
    pub(super) range: TextRange,
    pub(super) value: &'a Expr,
    pub(super) at: &'f At,
}

fn check(facts: &Facts<'_>, report: &mut Report) {
    let settings = settings(facts);
    if settings.is_empty() || hands_on_environment(facts) {
        return;
    }
    for setting in settings {
        let place = setting.range;
        let message = "The allocator has read its settings already: this one is ignored";
        if let Some(first) = first_use(facts, setting.at) {
            report
                .add(&place, message)
                .because(first, "CUDA starts here at the latest, and reads the variable then")
                .unsafe_fix("Set it before torch is imported", moved_to_top(facts, &setting));
        } else if let Some(caught) = facts.handler(setting.at).and_then(|handler| facts.oom_caught(handler)) {
            report.add(&place, message).because(&caught, "memory has run out, so CUDA has long started");
        } else if let Some(import) = backend_after_import(facts, &setting) {
            let message = "torch has chosen its allocator already: asking for another `backend` now fails";
            report.add(&place, message).because(&import, "the backend is chosen when torch is imported");
        }
    }
}

/// Every place that sets the variable.
pub(super) fn settings<'f, 'a>(facts: &'f Facts<'a>) -> Vec<Setting<'f, 'a>> {
    let is_named = |expr: &Expr| string_literal(expr).is_some_and(|name| VARIABLES.contains(&name));
    let is_variable = |expr: &Expr| match expr {
        Expr::Name(name) => facts.given_to(name.id.as_str()).any(is_named),
        _ => is_named(expr),
    };
    let mut found = Vec::new();
    for store in facts.stores().iter().filter(|store| store.kind == StoreKind::Item) {
        let environment = facts.source.slice(store.target.range()).ends_with("environ");
        let Some(Stmt::Assign(node)) = facts.statement(store.at.stmt).map(|statement| statement.node) else { continue };
        let keyed =
            node.targets.iter().any(|target| matches!(target, Expr::Subscript(item) if is_variable(&item.slice)));
        if environment && keyed {
            found.push(Setting { range: store.range, value: store.value_expr, at: &store.at });
        }
    }
    let calls = ["os.environ.setdefault", "os.putenv"].into_iter().flat_map(|name| facts.calls_to(name));
    for call in calls.filter(|call| call.arg(0).is_some_and(is_variable)) {
        let Some(value) = call.arg(1) else { continue };
        found.push(Setting { range: call.range(), value, at: &call.at });
    }
    for call in facts.calls_to("os.environ.update") {
        let named = |keyword: &&Keyword| keyword.arg.as_ref().is_some_and(|name| VARIABLES.contains(&name.as_str()));
        if let Some(keyword) = call.node.arguments.keywords.iter().find(named) {
            found.push(Setting { range: call.range(), value: &keyword.value, at: &call.at });
        }
        let Some(Expr::Dict(dict)) = call.arg(0) else { continue };
        for item in dict.items.iter().filter(|item| item.key.as_ref().is_some_and(is_variable)) {
            found.push(Setting { range: call.range(), value: &item.value, at: &call.at });
        }
    }
    found
}

/// Whether the file starts other processes, for which the variable may be meant, or tells the allocator directly.
fn hands_on_environment(facts: &Facts<'_>) -> bool {
    const STARTS: &[&str] =
        &["subprocess.", "os.system", "os.exec", "os.spawn", "multiprocessing.", "torch.multiprocessing."];
    let starts = |prefix: &&str| facts.calls_under(prefix).next().is_some();
    let by_name = ["spawn", "Popen", "Process", "launch", "_set_allocator_settings", "notebook_launcher"];
    STARTS.iter().any(starts) || by_name.iter().any(|name| facts.calls_named(name).next().is_some())
}

/// A call that starts CUDA before a point, on every path.
fn first_use<'f, 'a>(facts: &'f Facts<'a>, at: &At) -> Option<&'f Call<'a>> {
    let before = |call: &&Call<'a>| {
        let same = facts.is_always_before(&call.at, at);
        let function = facts.function(at).map(|function| function.node.range().start());
        let at_import = call.at.function.is_none()
            && function.is_some_and(|start| call.range().end() < start)
            && facts.blocks_around(&call.at).all(|(_, block)| block.kind.is_unconditional() && !is_main(&block.kind));
        same || at_import
    };
    facts.calls().iter().filter(|call| starts_cuda(facts, call)).find(before)
}

fn is_main(kind: &crate::analysis::events::BlockKind<'_>) -> bool {
    matches!(kind, crate::analysis::events::BlockKind::Main)
}

const STARTERS: &[&str] = &[
    "torch.cuda.init",
    "torch.cuda.current_device",
    "torch.cuda.get_device_capability",
    "torch.cuda.get_device_name",
    "torch.cuda.get_device_properties",
    "torch.cuda.mem_get_info",
    "torch.cuda.reset_peak_memory_stats",
    "torch.cuda.set_device",
    "torch.cuda.synchronize",
    "torch.cuda.Stream",
];

fn starts_cuda(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    if let Some(full) = facts.full_name(call) {
        return STARTERS.contains(&full)
            || full.starts_with("torch.") && call.result.is_tensor() && call.result.device == Device::Cuda;
    }
    if facts.callee_summary(call).is_some_and(|summary| summary.moves_to_cuda) {
        return true;
    }
    let kind = call.receiver.as_ref().map(|value| value.kind);
    let moved = matches!(kind, Some(Kind::Tensor | Kind::Module));
    // A pipeline, or whatever else goes to the GPU by name.
    let of_library = matches!(kind, Some(Kind::Unknown | Kind::Made(_) | Kind::Instance(_)));
    let by_name = call.arg(0).is_some_and(|device| is_always_cuda(facts, device));
    match call.name {
        "cuda" => moved || of_library && call.node.arguments.is_empty(),
        "to" => of_library && by_name || moved && call.result.device == Device::Cuda,
        _ => false,
    }
}

/// Whether a device is nothing but CUDA: `"cuda:0"`, or a name that is only given such.
fn is_always_cuda(facts: &Facts<'_>, device: &Expr) -> bool {
    let is_cuda = |expr: &Expr| string_literal(expr).is_some_and(|text| text.starts_with("cuda"));
    let Expr::Name(name) = device else { return is_cuda(device) };
    let mut given = facts.given_to(name.id.as_str()).peekable();
    given.peek().is_some() && given.all(is_cuda)
}

/// The import of torch before a setting of the backend, which is read at that import.
fn backend_after_import(facts: &Facts<'_>, setting: &Setting<'_, '_>) -> Option<TextRange> {
    let asks = string_literal(setting.value).is_some_and(|text| text.contains("backend:cudaMallocAsync"));
    let import = torch_import(facts)?;
    (asks && setting.at.function.is_none() && import.end() < setting.range.start()).then_some(import)
}

/// The first import of torch at the top of the file.
fn torch_import(facts: &Facts<'_>) -> Option<TextRange> {
    let mut top = facts.source.body().iter();
    top.find(|stmt| is_torch_import(stmt)).map(Ranged::range)
}

fn is_torch_import(stmt: &Stmt) -> bool {
    let is_torch = |name: &str| name == "torch" || name.starts_with("torch.");
    match stmt {
        Stmt::Import(node) => node.names.iter().any(|alias| is_torch(alias.name.as_str())),
        Stmt::ImportFrom(node) => node.module.as_ref().is_some_and(|module| is_torch(module.as_str())),
        _ => false,
    }
}

/// Takes the statement out and puts it before the first import of torch.
fn moved_to_top(facts: &Facts<'_>, setting: &Setting<'_, '_>) -> Vec<Edit> {
    let constant = string_literal(setting.value).is_some();
    let text = facts.source.slice(setting.range);
    let (Some(import), true, true) = (torch_import(facts), constant, text.starts_with("os.")) else {
        return Vec::new();
    };
    let mut edits = facts.delete_statement(setting.at.stmt);
    if edits.is_empty() || text.contains('\n') {
        return Vec::new();
    }
    edits.push(Edit::insert(facts.lines_of(import).start(), format!("import os\n{text}\n")));
    edits
}
