//! `notebook-output-history`: a cell's value is kept by the notebook.

use crate::analysis::events::{Bind, Call, Callee};
use crate::analysis::value::{Device, Flags, Kind, Value};
use crate::facts::Facts;
use crate::finding::{Edit, Safety};
use crate::python::{Expr, Output, Ranged, Stmt, TextRange, count_reads_in, root_name};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "notebook-output-history",
    group: Group::Frameworks,
    size: Size::once(Amount::Activations).growing(),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "A notebook cell ends in a tensor that lives on the GPU or has a graph.",
    why: "IPython keeps the value of every cell that ends in an expression: in `Out[n]` for good, and in `_`, `__` and \
          `___`. The tensor, and the graph with all activations behind it, can then not be freed by `del`.",
    cost: "The tensor and the activations of its forward pass, once for every time the cell is run, until the kernel \
           restarts.",
    instead: "End the line with `;`, bind the result to a name, or show what is wanted: `out.shape`, `out.mean().item()`.",
    when_not: "The value is small and has no graph. Where the notebook has stored what the cell gave, that decides.",
    programs: include_str!("notebook_output_history.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for cell in &facts.source.cells {
        let last = facts.statements().iter().filter(|found| {
            found.block == crate::analysis::value::BlockId::MODULE && cell.range.contains_range(found.node.range())
        });
        let Some(Stmt::Expr(shown)) = last.max_by_key(|found| found.node.start()).map(|found| found.node) else {
            continue;
        };
        let after = facts.source.slice(TextRange::new(shown.end(), cell.range.end()));
        let Some(value) = value_of(facts, &shown.value) else { continue };
        if after.trim_start().starts_with(';') || !is_heavy(facts, value, &shown.value) {
            continue;
        }
        let is_lesson = !cell.output.is_large() && is_fed_literals(facts, &shown.value);
        let worth = is_worth_keeping_out(cell.output, value)
            || matches!(cell.output, Output::Unknown)
                && (is_pairwise(facts, &shown.value) || is_visibly_large(facts, &shown.value));
        if is_lesson || !worth {
            continue;
        }
        let text = facts.written(&*shown.value);
        let text = text.lines().next().unwrap_or(text);
        let what = if value.holds_graph() { "a tensor with its graph" } else { "a tensor on the GPU" };
        report
            .add(shown, format!("The notebook keeps `{text}` in `Out`: {what} that no `del` can free"))
            .because(shown, format!("the last line of the cell, and {what}"))
            .unsafe_fix("Do not keep the value", vec![Edit::insert(shown.end(), ";")]);
    }
}

/// Whether the value is known to cost: the stored output shows a tensor on the GPU with a graph, or a large one; with no
/// output, it has a graph for sure.
fn is_worth_keeping_out(output: Output, value: &Value) -> bool {
    match output {
        Output::Error => false,
        // A graph with nothing but a copy in it keeps no activations.
        Output::Value { on_gpu, has_graph, is_large } => on_gpu && (has_graph && value.holds_graph() || is_large),
        Output::Unknown => value.holds_graph(),
    }
}

/// Whether every row of something goes against every other: `E @ E.T`, `torch.cdist(E, E)`.
fn is_pairwise(facts: &Facts<'_>, shown: &Expr) -> bool {
    let turned = |left: &Expr, right: &Expr| {
        let (left, right) = (facts.written(left), facts.written(right));
        [".T", ".t()", ".mT", ".transpose("]
            .iter()
            .any(|way| right.strip_prefix(left).is_some_and(|rest| rest.starts_with(way)))
    };
    match shown {
        Expr::BinOp(node) => node.op.is_mat_mult() && turned(&node.left, &node.right),
        Expr::Call(call) => match (last_name(&call.func), &*call.arguments.args) {
            (Some("cdist"), [first, second, ..]) => facts.written(first) == facts.written(second),
            (Some("matmul" | "mm"), [first, second]) => turned(first, second),
            _ => false,
        },
        _ => false,
    }
}

/// What a shown expression is, where that is known for sure: results of unknown methods may be anything.
fn value_of<'f>(facts: &'f Facts<'_>, expr: &Expr) -> Option<&'f Value> {
    const TENSOR_METHODS: &[&str] = &[
        "cuda",
        "to",
        "float",
        "half",
        "softmax",
        "log_softmax",
        "sigmoid",
        "view",
        "reshape",
        "permute",
        "transpose",
        "squeeze",
        "unsqueeze",
        "clone",
        "relu",
        "flatten",
        "contiguous",
    ];
    const RUNS: &[&str] = &["forward", "encode", "decode"];
    match expr {
        Expr::Call(_) => {
            let call = facts.call_at(expr)?;
            let torch = facts.full_name(call).is_some_and(|name| name.starts_with("torch."));
            // An object that is no tensor may have a `to` of its own, and gives itself.
            let of_tensor = call.receiver.as_ref().is_some_and(|on| on.is_tensor() && !on.has(Flags::GUESSED));
            let of_module = call.receiver.as_ref().is_some_and(Value::is_module) && RUNS.contains(&call.name);
            let method = TENSOR_METHODS.contains(&call.name) && of_tensor || of_module;
            let known = call.callee == Callee::Module || torch || method;
            known.then_some(&call.result)
        }
        _ => facts.bares().iter().find(|bare| bare.expr.range() == expr.range()).map(|bare| &bare.value),
    }
}

/// Whether it is worth a word: more than one number on the GPU, or a forward pass there.
fn is_heavy(facts: &Facts<'_>, value: &Value, shown: &Expr) -> bool {
    if let (Kind::Tuple, Expr::Tuple(_), Some(parts)) = (value.kind, shown, &value.parts) {
        return parts.iter().any(|part| is_heavy(facts, part, shown));
    }
    if !value.is_tensor() || value.has(Flags::SCALAR) || value.has(Flags::LOSS) {
        return false;
    }
    if !value.keeps_graph() && is_visibly_small(facts, shown) {
        return false;
    }
    value.device == Device::Cuda || value.keeps_graph() && comes_from_gpu(facts, shown)
}

/// Whether the data was written out as literals, or made with literal sizes: a lesson, not a workload.
fn is_visibly_small(facts: &Facts<'_>, shown: &Expr) -> bool {
    let read: Vec<&Bind<'_>> = facts.binds().iter().filter(|bind| count_reads_in(shown, bind.name) > 0).collect();
    let is_small = |bind: &&Bind<'_>| {
        let made = bind.value_expr.and_then(|expr| facts.call_at(expr));
        made.is_some_and(|call| is_of_few_literals(facts, call))
    };
    !read.is_empty() && read.iter().all(|bind| read.iter().filter(|other| other.name == bind.name).any(is_small))
}

/// Whether tensors that were made with large literal sizes are worked with, number by number or as matrices: `a @ b`.
fn is_visibly_large(facts: &Facts<'_>, shown: &Expr) -> bool {
    const MANY: u64 = 16_000_000;
    let made_large = |expr: &Expr| {
        let Expr::Name(name) = expr else { return false };
        let mut binds = facts.binds_of(name.id.as_str());
        let (Some(only), None) = (binds.next(), binds.next()) else { return false };
        let made = only.value_expr.and_then(|expr| innermost_call(facts, expr));
        made.and_then(|call| numbers_made(facts, call)).is_some_and(|count| count >= MANY)
    };
    matches!(shown, Expr::BinOp(node) if made_large(&node.left) && made_large(&node.right))
}

/// Whether a model is called with a handful of numbers that stand in the notebook: `net(torch.tensor([[8., 9.]]).cuda())`.
fn is_fed_literals(facts: &Facts<'_>, shown: &Expr) -> bool {
    let written_out = |expr: &Expr| {
        let numbers = matches!(expr, Expr::List(_)) && is_literal(facts.written(expr));
        let given = |call: &Call<'_>| matches!(call.name, "tensor" | "Tensor" | "FloatTensor" | "as_tensor");
        numbers || innermost_call(facts, expr).is_some_and(|call| given(call) && is_of_few_literals(facts, call))
    };
    let is_fed = |arg: &Expr| match root_name(arg).filter(|name| *name != "torch") {
        Some(name) => facts.binds_of(name).any(|bind| bind.value_expr.is_some_and(written_out)),
        None => written_out(arg),
    };
    matches!(shown, Expr::Call(call) if !call.arguments.args.is_empty() && call.arguments.args.iter().all(is_fed))
}

/// The call at the start of a chain of methods: `torch.tensor(...)` of `torch.tensor(...).float().cuda()`.
fn innermost_call<'f, 'a>(facts: &'f Facts<'a>, expr: &Expr) -> Option<&'f Call<'a>> {
    let call = facts.call_at(expr)?;
    call.receiver_expr().and_then(|receiver| innermost_call(facts, receiver)).or(Some(call))
}

/// `torch.tensor([1., 2., 3.])`, `torch.ones(2, 3)`: at most a few thousand numbers, in plain sight.
fn is_of_few_literals(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let maker = facts.full_name(call).and_then(|name| name.strip_prefix("torch."));
    match maker {
        Some("tensor" | "Tensor" | "FloatTensor" | "as_tensor") => is_literal(&arguments_of(facts, call)),
        _ => numbers_made(facts, call).is_some_and(|count| count <= 4096),
    }
}

fn arguments_of(facts: &Facts<'_>, call: &Call<'_>) -> String {
    call.node.arguments.args.iter().map(|arg| facts.written(arg)).collect::<Vec<_>>().join(",")
}

/// How many numbers `torch.ones(2, 3)` has, where its sizes are written out.
fn numbers_made(facts: &Facts<'_>, call: &Call<'_>) -> Option<u64> {
    let maker = facts.full_name(call).and_then(|name| name.strip_prefix("torch."))?;
    let written = arguments_of(facts, call);
    let by_size = matches!(maker, "ones" | "zeros" | "rand" | "randn" | "arange" | "eye" | "empty");
    let sizes = written.split(|c: char| !c.is_ascii_digit()).filter_map(|size| size.parse::<u64>().ok());
    (by_size && is_literal(&written)).then(|| sizes.fold(1u64, u64::saturating_mul))
}

/// Whether nothing but numbers is written there.
fn is_literal(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || " .,-+e()[]\n".contains(c))
}

/// Whether something in the expression is moved to the GPU, or was before.
fn comes_from_gpu(facts: &Facts<'_>, shown: &Expr) -> bool {
    is_made_on_gpu(facts, shown, 4)
}

/// Whether something in the expression is made on the GPU or moved there, or a name in it was bound to such before.
fn is_made_on_gpu(facts: &Facts<'_>, expr: &Expr, hops: u32) -> bool {
    let Some(hops) = hops.checked_sub(1) else { return false };
    let within = |call: &&crate::analysis::events::Call<'_>| expr.range().contains_range(call.node.range());
    let here = facts.calls().iter().filter(within).any(|call| facts.moves_to_gpu(call) || facts.makes_on_gpu(call));
    here || facts.binds().iter().any(|bind| {
        bind.at.function.is_none()
            && bind.target.end() <= expr.start()
            && count_reads_in(expr, bind.name) > 0
            && bind.value_expr.is_some_and(|value| is_made_on_gpu(facts, value, hops))
    })
}
