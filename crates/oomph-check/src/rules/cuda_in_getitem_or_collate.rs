//! `cuda-in-getitem-or-collate`: loader workers touch the GPU.

use crate::analysis::events::{At, Bind, BlockKind, Call};
use crate::analysis::value::{Kind, Value};
use crate::facts::{Facts, FunctionKind};
use crate::python::{Expr, Ranged};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::Size;
use crate::uses::{last_name, string_of};

pub(super) static RULE: Rule = Rule {
    name: "cuda-in-getitem-or-collate",
    group: Group::Data,
    size: Size::failure(),
    is_opportunity: false,
    fix: None,
    summary: "A dataset or a collate function puts tensors on the GPU.",
    why: "Loader workers are processes of their own. Each one that touches the GPU opens a CUDA context there, and with \
          forked workers CUDA refuses to start at all. Finished batches then wait on the GPU in the loader's queue.",
    cost: "About half a gigabyte of GPU memory a worker for its context, and `num_workers x prefetch_factor` batches.",
    instead: "Return CPU tensors, give the loader `pin_memory=True`, and move each batch in the loop with \
              `batch.to(device, non_blocking=True)`.",
    when_not: "The loader has `num_workers=0`: everything then runs in the main process.",
    programs: include_str!("cuda_in_getitem_or_collate.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let loaders: Vec<&Call<'_>> = facts.calls_named("DataLoader").collect();
    for call in facts.calls() {
        let helper = facts.callee_summary(call).is_some_and(|summary| summary.moves_to_cuda);
        if !(facts.moves_to_gpu(call) || facts.makes_on_gpu(call) || helper) {
            continue;
        }
        let tied: Vec<&&Call<'_>> = loaders.iter().filter(|loader| is_for(facts, loader, call)).collect();
        let Some(part) = worker_part(facts, call, !tied.is_empty()) else { continue };
        let elsewhere = tied.is_empty() && facts.is_collate_of_workers(&call.at);
        let asked = if tied.is_empty() && !elsewhere { loaders.iter().collect() } else { tied.clone() };
        let with_workers = asked.iter().find(|loader| has_workers(facts, loader));
        if !asked.is_empty() && with_workers.is_none() {
            continue;
        }
        // No loader of it in sight: only what certainly means the GPU.
        let literal = call.name == "cuda" || facts.written(&call.node.arguments).contains("cuda");
        if tied.is_empty() && !elsewhere && (!literal || helper) {
            continue;
        }
        let with_workers = with_workers.filter(|_| !tied.is_empty());
        // Forked workers cannot start CUDA at all, so code that runs has none, unless it says that it does.
        let works = elsewhere || with_workers.is_some_and(|loader| surely_has_workers(facts, loader));
        let place = call.keyword("device").or_else(|| call.arg(0)).filter(|_| call.name != "cuda" && !helper);
        let on_gpu = place.is_none_or(|place| is_surely_gpu(facts, place, Some(&call.at), 3));
        report
            .add(call, format!("`{part}` runs in the loader's workers: each of them opens a CUDA context here"))
            .doubtful_if(!works || !on_gpu)
            .because(call, "this puts data on the GPU")
            .because_if(with_workers.map(Ranged::range), "this loader has workers");
    }
}

/// Whether everything in view that a place may be is a GPU, if only where there is one: its bindings as seen from a point,
/// or those of the whole file; for a parameter what calls give it, else its default.
fn is_surely_gpu<'a>(facts: &Facts<'a>, place: &Expr, at: Option<&At>, hops: u32) -> bool {
    let (Expr::Name(_) | Expr::Attribute(_), Some(name)) = (place, last_name(place)) else {
        let text = facts.written(place);
        let depends = text.contains(" if ") && !text.contains("is_available");
        return text.contains("cuda") && !text.contains(".parameters(") && !depends;
    };
    let Some(hops) = hops.checked_sub(1) else { return false };
    let anywhere = |given: Vec<&'a Expr>| {
        !given.is_empty() && given.into_iter().all(|expr| is_surely_gpu(facts, expr, None, hops))
    };
    let Some(at) = at else { return anywhere(facts.given_to(name).collect()) };
    let parameter = facts.function(at).is_some_and(|function| function.node.parameters.includes(name));
    if place.is_name_expr() && parameter {
        let given = facts.arguments_for(name, Some(at));
        return anywhere(if given.is_empty() { facts.given_at(name, at) } else { given });
    }
    let binds = facts.binds_seen(place, at);
    let on_gpu =
        |bind: &&Bind<'a>| bind.value_expr.is_some_and(|expr| is_surely_gpu(facts, expr, Some(&bind.at), hops));
    !binds.is_empty() && binds.iter().all(on_gpu)
}

/// Whether a loader is known to run the function a call is in.
fn is_for(facts: &Facts<'_>, loader: &Call<'_>, call: &Call<'_>) -> bool {
    let class = facts.class_at(&call.at);
    let of_class = |value: Option<&Value>| {
        let made = value.and_then(|value| {
            value.class.or(match value.kind {
                Kind::Instance(id) => Some(id),
                _ => None,
            })
        });
        made.is_some() && made == class
    };
    let name = facts.function_name(&call.at);
    let dataset = loader.keyword_value("dataset").or_else(|| loader.args.first());
    if of_class(dataset) || name == "__call__" && of_class(loader.keyword_value("collate_fn")) {
        return true;
    }
    let Some(collate) = loader.keyword("collate_fn") else { return false };
    match collate {
        Expr::Lambda(lambda) => lambda.range().contains_range(call.node.range()),
        _ => !name.is_empty() && facts.written(collate).contains(name),
    }
}

/// What the function a call is in is called, when that runs in workers.
fn worker_part<'a>(facts: &Facts<'a>, call: &Call<'a>, is_tied: bool) -> Option<&'a str> {
    let name = facts.function_name(&call.at);
    let by_kind = matches!(facts.kind_at(&call.at), FunctionKind::GetItem | FunctionKind::Collate);
    let by_name = matches!(name, "collate_fn" | "collate_batch" | "custom_collate_fn" | "my_collate" | "collate");
    let by_loader = is_tied && matches!(name, "__getitem__" | "__iter__" | "__getitems__" | "__next__" | "__call__");
    let in_lambda = is_tied && facts.blocks_around(&call.at).any(|(_, block)| matches!(block.kind, BlockKind::Lambda));
    if in_lambda {
        return Some("collate_fn");
    }
    (by_kind || by_name || by_loader).then_some(name)
}

fn has_workers(facts: &Facts<'_>, loader: &Call<'_>) -> bool {
    match loader.keyword("num_workers").or_else(|| loader.arg(5)) {
        Some(workers) => !facts.is_always(workers, 0),
        None => loader.has_star(),
    }
}

/// Whether a loader has workers whatever the user asks for: a number in plain sight, by name or as the only default.
fn surely_has_workers(facts: &Facts<'_>, loader: &Call<'_>) -> bool {
    let some = |expr: &Expr| number_of(facts, expr).is_some_and(|number| number > 0);
    if let Some(workers) = loader.keyword("num_workers").or_else(|| loader.arg(5)) {
        let mut given = last_name(workers).map(|name| facts.given_to(name)).into_iter().flatten().peekable();
        return some(workers) || given.peek().is_some() && given.all(some);
    }
    // `DataLoader(data, **options)`: what the options of this file say.
    let options = facts.calls_to("dict").filter_map(|made| made.keyword("num_workers"));
    let written = facts.binds().iter().filter_map(|bind| match bind.value_expr {
        Some(Expr::Dict(dict)) => dict.items.iter().find_map(|item| {
            let named = item.key.as_ref().and_then(string_of) == Some("num_workers");
            named.then_some(&item.value)
        }),
        _ => None,
    });
    let mut all = options.chain(written).peekable();
    all.peek().is_some() && all.all(some)
}

fn number_of(facts: &Facts<'_>, expr: &Expr) -> Option<u32> {
    matches!(expr, Expr::NumberLiteral(_)).then(|| facts.written(expr).parse().ok())?
}
