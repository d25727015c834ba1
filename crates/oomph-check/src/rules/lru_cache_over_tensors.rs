//! `lru-cache-over-tensors`: a memo that keeps a tensor for every size ever seen.

use crate::analysis::events::{Call, Callee, Decorator};
use crate::analysis::outline::FunctionDef;
use crate::analysis::value::{Device, FunctionId, Kind, Value};
use crate::facts::{Facts, FunctionKind};
use crate::python::{Expr, Ranged, TextRange, count_reads, count_reads_in, root_name};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{last_name, reads_of, whole_number};

pub(super) static RULE: Rule = Rule {
    name: "lru-cache-over-tensors",
    group: Group::Graph,
    size: Size::per_batch(Amount::Batch),
    is_opportunity: false,
    fix: None,
    summary: "`lru_cache` keeps a tensor for every size and device it was ever asked for.",
    why: "The cache holds its results for the life of the process. When a size is part of the key, every new length adds \
          another tensor, usually on the GPU; on a method it holds `self` and all its weights as well.",
    cost: "The sum over all keys: masks for 128 lengths up to 4,096 are about 3 GB in float32.",
    instead: "Register one buffer of the largest size and slice it, or make the tensor anew: most are cheap. A cache of \
              one entry (`maxsize=1`) is bounded.",
    when_not: "The key takes few values, or the tensors are small and stay on the CPU.",
    programs: include_str!("lru_cache_over_tensors.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for decorator in facts.decorators() {
        let name = decorator.name.map(|sym| facts.text(sym));
        if !matches!(name, Some("functools.lru_cache" | "functools.cache")) || is_small(facts, decorator) {
            continue;
        }
        let id = FunctionId { file: facts.file_index(), index: decorator.function };
        let function = facts.function_def(id);
        if let Some(parameter) = tensor_parameter(facts, function) {
            report
                .add(
                    decorator.expr,
                    format!(
                        "The cache of `{}` keeps every tensor it was ever given: no two tensors are the same key",
                        function.node.name.as_str()
                    ),
                )
                .because(&parameter, "a tensor, and part of the key");
            continue;
        }
        if keeps_data(facts, report, decorator) {
            continue;
        }
        let Some(returned) = facts.summary(id).map(|summary| &summary.returns) else { continue };
        if !holds_tensor(returned) {
            continue;
        }
        let Some(made) = sized_tensor(facts, decorator.function) else {
            keeps_outputs(facts, report, decorator);
            continue;
        };
        report
            .add(
                decorator.expr,
                format!(
                    "The cache of `{}` keeps one tensor for every size it is asked for, as long as the process runs",
                    function.node.name.as_str()
                ),
            )
            .doubtful_if(!is_large(facts, decorator, made) || has_few_keys(facts, function))
            .because(made, "the tensor's size comes from the key, so every new size is a new entry")
            .because(decorator.expr, "nothing takes entries out before there are very many");
    }
}

/// Whether entries are many, or each of them is large.
fn is_large(facts: &Facts<'_>, decorator: &Decorator<'_>, made: &Call<'_>) -> bool {
    is_unbounded(decorator) || is_square(facts, made) || is_spread(facts, decorator.function, made)
}

/// Whether every call in this file gives settings that stay: `mask(self.context, cfg.heads)`, `mask(64, 8)`. A size that
/// comes from the data changes with it.
fn has_few_keys(facts: &Facts<'_>, function: &FunctionDef<'_>) -> bool {
    let name = function.node.name.as_str();
    let setting = |expr: &Expr| match expr {
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::NoneLiteral(_) | Expr::BooleanLiteral(_) => true,
        Expr::Attribute(node) => {
            let last = node.attr.as_str();
            matches!(last, "device" | "dtype") || matches!(root_name(expr), Some("self" | "cfg" | "config" | "args"))
        }
        Expr::Name(name) => {
            // A constant of the module; `T` of `B, T, C = x.shape` is none.
            let constant = name.id.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit());
            let mut binds = facts.binds_of(name.id.as_str());
            name.id.as_str() == "device" || constant && binds.all(|bind| bind.at.function.is_none())
        }
        _ => false,
    };
    let mut calls = facts.calls_named(name).peekable();
    calls.peek().is_some()
        && calls.all(|call| {
            let keywords = call.node.arguments.keywords.iter().map(|keyword| &keyword.value);
            call.node.arguments.args.iter().chain(keywords).all(setting)
        })
}

/// Ways to read a sample from a file.
const READS: &[&str] = &[
    "torch.load",
    "torch.from_numpy",
    "torchaudio.load",
    "torchvision.io.read_image",
    "torchvision.io.decode_image",
    "torchvision.io.read_video",
    "librosa.load",
    "soundfile.read",
    "numpy.load",
];

/// A cache without end of the samples of a dataset: every one of them stays in main memory, in every worker.
fn keeps_data(facts: &Facts<'_>, report: &mut Report, decorator: &Decorator<'_>) -> bool {
    let function = &facts.outline().functions[decorator.function as usize];
    let mut parameters = function.node.parameters.iter_non_variadic_params();
    let own = |call: &&Call<'_>| call.at.function == Some(decorator.function);
    let key = parameters.find_map(|parameter| {
        let name = parameter.name().as_str();
        let read = |call: &&Call<'_>| {
            let reads = facts.full_name(call).is_some_and(|full| READS.contains(&full));
            reads && call.node.arguments.args.iter().any(|arg| count_reads_in(arg, name) > 0)
        };
        let read = facts.calls().iter().filter(own).find(read)?;
        (name != "self" && name != "cls").then_some((name, read))
    });
    let Some((key, read)) = key.filter(|_| is_unbounded(decorator)) else { return false };
    let id = FunctionId { file: facts.file_index(), index: decorator.function };
    let is_it = |call: &Call<'_>| call.callee == Callee::Project(id);
    let mut calls = facts.calls().iter().filter(|call| facts.kind_at(&call.at) == FunctionKind::GetItem);
    let Some(item) = calls.find(|call| is_it(call)) else { return false };
    let name = function.node.name.as_str();
    report
        .add(
            decorator.expr,
            format!("The cache of `{name}` keeps one sample for every `{key}` it is asked for: in time the whole dataset, in every worker"),
        )
        .because(read, "what is read is kept")
        .because(item, "asked for once a sample")
        .because(decorator.expr, "nothing takes entries out");
    true
}

/// Whether a tensor of a size goes against itself, as a column and as a row: `i[:, None] - i[None, :]`.
fn is_spread(facts: &Facts<'_>, function: u32, made: &Call<'_>) -> bool {
    let Some(name) = facts.bound_name(made) else { return false };
    let body = &facts.outline().functions[function as usize].node.body;
    let turned = |expr: &Expr| {
        let text = facts.written(expr);
        text.starts_with(name) && (text.contains("None") || text.contains("unsqueeze(") || text.contains("view("))
    };
    let pairs = |expr: &&Expr| match expr {
        Expr::BinOp(node) => turned(&node.left) && turned(&node.right),
        Expr::Compare(node) => turned(&node.left) && node.comparators.iter().any(turned),
        _ => false,
    };
    reads_of(body, name).iter().any(|(_, around)| around.iter().any(&pairs))
}

/// A cache of what a model gave: one output for every key, `@cache def encode(self, prompt)`.
fn keeps_outputs(facts: &Facts<'_>, report: &mut Report, decorator: &Decorator<'_>) {
    const SETTINGS: &[&str] = &["self", "cls", "device", "dtype", "name", "model_name", "model_path", "checkpoint"];
    let function = &facts.outline().functions[decorator.function as usize];
    let body = &function.node.body;
    let mut parameters = function.node.parameters.iter_non_variadic_params();
    let key =
        parameters.find(|own| !SETTINGS.contains(&own.name().as_str()) && count_reads(body, own.name().as_str()) > 0);
    let mut calls = facts.calls().iter().filter(|call| call.at.function == Some(decorator.function));
    let pass = calls.find(|call| call.callee == Callee::Module && call.result.device != Device::Cpu);
    let (Some(key), Some(pass)) = (key, pass) else { return };
    let moved = ["cpu", "numpy", "tolist", "item"].into_iter().flat_map(|way| facts.calls_named(way));
    if moved.into_iter().any(|call| call.at.function == Some(decorator.function)) {
        return;
    }
    let name = function.node.name.as_str();
    let few = !is_unbounded(decorator) && !holds_thousands(decorator);
    report
        .add(decorator.expr, format!("The cache of `{name}` keeps one output of the model for every `{}` it is asked for, as long as the process runs", key.name().as_str()))
        .doubtful_if(few)
        .because(pass, "what the model gives is kept")
        .because(decorator.expr, "nothing takes entries out before there are very many");
}

/// Whether a tensor's size is the square of a parameter: each of the entries is large.
fn is_square(facts: &Facts<'_>, made: &Call<'_>) -> bool {
    let sizes: Vec<&Expr> = match &*made.node.arguments.args {
        [Expr::Tuple(shape), ..] => shape.elts.iter().collect(),
        sizes => sizes.iter().collect(),
    };
    sizes.iter().enumerate().any(|(index, size)| {
        let same = |other: &&Expr| facts.written(*other) == facts.written(*size);
        size.is_name_expr() && sizes[index + 1..].iter().any(same)
    })
}

/// A parameter that is a tensor, by its annotation.
fn tensor_parameter(facts: &Facts<'_>, function: &FunctionDef<'_>) -> Option<TextRange> {
    let parameters = function.node.parameters.iter_non_variadic_params();
    let is_tensor = |annotation: &&Expr| matches!(facts.written(*annotation), "torch.Tensor" | "Tensor" | "th.Tensor");
    let annotated = parameters.filter_map(|own| own.parameter.annotation.as_deref());
    annotated.filter(is_tensor).map(Ranged::range).next()
}

/// Whether the cache is bounded to a handful of entries.
fn is_small(facts: &Facts<'_>, decorator: &Decorator<'_>) -> bool {
    let Expr::Call(call) = decorator.expr else { return false };
    let size = call.arguments.find_argument_value("maxsize", 0);
    match size {
        Some(Expr::NumberLiteral(number)) => {
            facts.source.slice(number.range()).parse::<u32>().is_ok_and(|size| size <= 16)
        }
        Some(Expr::NoneLiteral(_)) | None => false,
        Some(_) => true,
    }
}

/// Whether the bound of the cache is out of reach: `lru_cache(maxsize=100_000)`.
fn holds_thousands(decorator: &Decorator<'_>) -> bool {
    const MANY: u64 = 10_000;
    let Expr::Call(call) = decorator.expr else { return false };
    call.arguments.find_argument_value("maxsize", 0).and_then(whole_number).is_some_and(|size| size >= MANY)
}

/// Whether the cache grows without end: `cache`, `lru_cache(maxsize=None)`.
fn is_unbounded(decorator: &Decorator<'_>) -> bool {
    match decorator.expr {
        Expr::Call(call) => matches!(call.arguments.find_argument_value("maxsize", 0), Some(Expr::NoneLiteral(_))),
        named => last_name(named) == Some("cache"),
    }
}

fn holds_tensor(value: &Value) -> bool {
    value.kind == Kind::Tensor || value.parts.as_ref().is_some_and(|parts| parts.iter().any(holds_tensor))
}

/// A tensor made in the function whose size is one of its parameters, on a device that may be a GPU.
fn sized_tensor<'f, 'a>(facts: &'f Facts<'a>, function: u32) -> Option<&'f Call<'a>> {
    let parameters = &facts.outline().functions[function as usize].node.parameters;
    let names: Vec<&str> =
        parameters.iter_non_variadic_params().map(|parameter| parameter.parameter.name.as_str()).collect();
    let made = [
        "ones",
        "zeros",
        "arange",
        "full",
        "empty",
        "eye",
        "rand",
        "randn",
        "linspace",
        "triu_indices",
        "tril_indices",
    ];
    let calls = facts.calls().iter().filter(|call| call.at.function == Some(function));
    let on_device = facts
        .calls()
        .iter()
        .filter(|call| call.at.function == Some(function))
        .any(|call| call.keyword("device").is_some() || matches!(call.name, "to" | "cuda"));
    let sized = |call: &&Call<'a>| {
        let full = facts.full_name(call).and_then(|name| name.strip_prefix("torch."));
        let size = call.node.arguments.args.iter().any(|arg| names.iter().any(|name| is_sized_by(arg, name)));
        full.is_some_and(|name| made.contains(&name)) && size
    };
    calls.filter(sized).find(|_| on_device)
}

/// Whether an argument is a parameter, or arithmetic or a tuple with one in it.
fn is_sized_by(argument: &Expr, name: &str) -> bool {
    match argument {
        Expr::Name(found) => found.id.as_str() == name && name != "device" && name != "dtype",
        Expr::BinOp(node) => is_sized_by(&node.left, name) || is_sized_by(&node.right, name),
        Expr::Tuple(node) => node.elts.iter().any(|item| is_sized_by(item, name)),
        Expr::List(node) => node.elts.iter().any(|item| is_sized_by(item, name)),
        Expr::Starred(node) => is_sized_by(&node.value, name),
        _ => false,
    }
}
