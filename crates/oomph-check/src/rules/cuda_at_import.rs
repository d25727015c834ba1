//! `cuda-at-import`: importing a module opens a CUDA context.

use crate::analysis::events::{BlockKind, Call, Callee};
use crate::analysis::known::has_no_parameters;
use crate::analysis::value::Kind;
use crate::facts::Facts;
use crate::python::{Expr, Stmt};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "cuda-at-import",
    group: Group::Data,
    size: Size::once(Amount::Model),
    is_opportunity: false,
    fix: None,
    summary: "A module puts something on the GPU when it is imported.",
    why: "Every process that imports the module opens a CUDA context, loader workers and spawned ranks among them, on GPU \
          0 unless another was chosen before. The tensor lives as long as the process.",
    cost: "About half a gigabyte of GPU memory a process, and what the module puts there.",
    instead: "Make it in a function, or at first use; keep constants on the CPU, or as buffers of a module.",
    when_not: "The file is a script that nobody imports.",
    programs: include_str!("cuda_at_import.py"),
    check,
};

const TOUCH: &[&str] =
    &["torch.cuda.current_device", "torch.cuda.mem_get_info", "torch.cuda.synchronize", "torch.cuda.Stream"];

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() || !facts.source.cells.is_empty() || !is_module(facts) {
        return;
    }
    let mut calls = facts.calls().iter().filter(|call| runs_at_import(facts, call));
    let touch = calls.find(|call| {
        let named = facts.full_name(call).is_some_and(|name| TOUCH.contains(&name));
        facts.moves_to_gpu(call) && !moves_nothing(facts, call) || facts.makes_on_gpu(call) || named
    });
    let Some(call) = touch else { return };
    let text = facts.written(call);
    let text = if text.contains('\n') || text.len() > 60 { "This".to_owned() } else { format!("`{text}`") };
    let imported = facts.tables().is_imported(facts.file_index());
    report
        .add(call, format!("{text} opens a CUDA context in every process that imports this module"))
        .doubtful_if(!imported && runs_by_itself(facts))
        .because(call, "runs when the module is imported");
}

/// Whether what is moved is a module without parameters: that touches no GPU.
fn moves_nothing(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let maker = call.receiver.as_ref().and_then(|value| facts.name_of(value)).or_else(|| {
        let made = call.receiver_expr().and_then(|expr| facts.call_at(expr))?;
        facts.full_name(made)
    });
    let written = call.receiver_expr().map_or("", |expr| facts.written(expr));
    if let Some(class) = call.receiver.as_ref().and_then(|value| value.class) {
        let definition = &facts.tables().outlines[class.file as usize].classes[class.index as usize];
        let buffers = |stmt: &Stmt| matches!(stmt, Stmt::FunctionDef(method) if registers(&method.body));
        return facts.tables().has_no_parameters(class) && !definition.node.body.iter().any(buffers);
    }
    let Some(name) = maker else { return false };
    // Another's loss has no weights as a rule, and where it has, nobody here can see it.
    let Some(class) = name.strip_prefix("torch.nn.") else { return name.ends_with("Loss") };
    let plain = class.ends_with("Loss") && !written.contains("weight");
    plain
        || has_no_parameters(name)
        || ["Dropout", "MaxPool", "AvgPool", "Adaptive"].iter().any(|word| class.starts_with(word))
        || class.contains("Pad")
}

/// Whether statements make a buffer: `self.register_buffer("mean", mean)`.
fn registers(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Expr(node) => {
            matches!(&*node.value, Expr::Call(call) if last_name(&call.func) == Some("register_buffer"))
        }
        Stmt::If(node) => registers(&node.body),
        Stmt::For(node) => registers(&node.body),
        _ => false,
    })
}

fn runs_at_import(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let guarded = facts
        .blocks_around(&call.at)
        .any(|(_, block)| matches!(block.kind, BlockKind::Main | BlockKind::Lambda | BlockKind::If(_)));
    call.at.function.is_none() && !guarded
}

/// Whether the file may be a script: it has a part for that, or calls or makes at its top level what it defines.
fn runs_by_itself(facts: &Facts<'_>) -> bool {
    let guarded = facts.blocks().any(|(_, block)| matches!(block.kind, BlockKind::Main));
    let own = |call: &Call<'_>| {
        let defined = matches!(call.callee, Callee::Project(_)) || matches!(call.result.kind, Kind::Instance(_));
        call.at.function.is_none() && (defined || call.result.class.is_some())
    };
    guarded || facts.calls().iter().any(own)
}

/// Whether a call at the top level only sets something, as modules do too: seeds, logging, the device.
fn only_sets(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    const SETTERS: &[&str] = &[
        "warnings.",
        "logging.",
        "random.seed",
        "numpy.random.seed",
        "torch.manual_seed",
        "torch.cuda.manual_seed",
        "torch.cuda.set_device",
        "torch.set_",
        "torch.multiprocessing.set_",
        "sys.path.",
        "os.environ.",
    ];
    let full = facts.full_name(call).unwrap_or_default();
    // `net.load_state_dict(weights)` makes ready what is there to be used.
    let readies = matches!(call.name, "load_state_dict" | "eval" | "requires_grad_" | "half")
        && call.receiver_expr().is_some_and(Expr::is_name_expr);
    readies || SETTERS.iter().any(|setter| full.starts_with(setter)) || facts.written(call).contains("filterwarnings")
}

/// Whether the file is there to be imported: it defines things and does nothing else at its top level but bind names.
fn is_module(facts: &Facts<'_>) -> bool {
    let outline = facts.outline();
    let body = facts.source.body();
    let defines = !outline.classes.is_empty() || !outline.functions.is_empty();
    let plain = body.iter().all(|stmt| match stmt {
        Stmt::For(_) | Stmt::While(_) | Stmt::With(_) | Stmt::AugAssign(_) => false,
        Stmt::Expr(node) => facts.call_at(&node.value).is_none_or(|call| only_sets(facts, call)),
        Stmt::If(node) => !facts.written(&*node.test).contains("__name__") || node.body.len() < 3,
        Stmt::Assign(node) => {
            !facts.written(&*node.value).contains("parse_args")
                && !facts.written(&*node.value).contains("ArgumentParser")
        }
        _ => true,
    });
    defines && plain
}
