//! `float64-by-accident`: numpy's default type doubles everything.

use crate::analysis::events::Call;
use crate::facts::Facts;
use crate::finding::{Edit, Safety};
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{Use, last_name, uses_in, whole_number};

pub(super) static RULE: Rule = Rule {
    name: "float64-by-accident",
    group: Group::Operations,
    size: Size::per_batch(Amount::Batch),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "An array of numpy's 64-bit floats goes to the GPU as it is.",
    why: "numpy makes 64-bit floats unless told otherwise, and `torch.from_numpy` and `torch.tensor` keep that. Every \
          result computed with such a tensor is 64-bit too.",
    cost: "Twice the memory for the tensor and all that is derived from it, and a fraction of the speed.",
    instead: "`torch.rand(..., device=\"cuda\")`, or `.float()` before the tensor is moved.",
    when_not: "The computation needs double precision.",
    programs: include_str!("float64_by_accident.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let text = &facts.source.text;
    let wants_double = text.contains("set_default_dtype") || text.contains(".double()") || text.contains("float64");
    if wants_double || facts.is_test_file() {
        return;
    }
    for call in ["torch.from_numpy", "torch.tensor", "torch.as_tensor"].iter().flat_map(|name| facts.calls_to(name)) {
        let Some(array) = call.arg(0) else { continue };
        if call.keyword("dtype").is_some() || call.args.len() > 1 {
            continue;
        }
        let Some(moved) = goes_to_gpu(facts, call).filter(|_| !is_put_into(facts, call)) else { continue };
        let Some((wide, sized)) = facts.wide_array(&call.at, array) else { continue };
        if is_only_copied(facts, call) || is_narrowed_by_callers(facts, call) {
            continue;
        }
        let spreads = moved.until.is_none() && spreads(facts, call);
        let few = is_few(facts, sized) && !spreads;
        let message = match moved.until {
            None if spreads => {
                "This tensor has 64-bit floats, numpy's default, and so has all that is computed with it"
            }
            None => "This tensor has 64-bit floats, numpy's default: it takes twice the memory of 32-bit ones",
            Some(_) => "This tensor has 64-bit floats, numpy's default, and is made narrower only on the GPU",
        };
        report
            .add(call, message)
            .size(if few { Size::per_batch(Amount::Small) } else { RULE.size })
            .because(wide, "numpy makes 64-bit floats")
            .because(&moved.at, "it goes to the GPU as it is")
            .because_if(moved.until, "what is read from it is made narrower here, beside it")
            .unsafe_fix("Make it 32-bit", vec![Edit::insert(call.node.end(), ".float()")]);
    }
}

/// Whether it is put into a part of another tensor, which keeps its own type.
fn is_put_into(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    match facts.statement(call.at.stmt).map(|statement| statement.node) {
        Some(Stmt::Assign(assign)) => {
            assign.value.start() == call.node.start() && assign.targets.iter().all(Expr::is_subscript_expr)
        }
        _ => false,
    }
}

/// Whether nothing is done with the tensor but to copy it into another, which keeps its own type.
fn is_only_copied(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let copies = |outer: &Expr| matches!(outer, Expr::Call(copy) if last_name(&copy.func) == Some("copy_"));
    if let Some(name) = name_given(facts, call) {
        let uses = uses_in(facts.body_around(&call.at), name);
        return !uses.is_empty() && uses.iter().all(|found| found.around.iter().any(|outer| copies(outer)));
    }
    facts.around(call).iter().any(|outer| copies(outer))
}

/// Whether a helper returns the tensor and some caller makes it narrower at once: `load(path).float()`.
fn is_narrowed_by_callers(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let returned = facts.statement(call.at.stmt).is_some_and(|statement| statement.node.is_return_stmt());
    let narrow = |caller: &Call<'_>| facts.around(caller).iter().any(|outer| narrows(facts, outer));
    returned && facts.callers_of(&call.at).any(narrow)
}

/// Whether an expression makes what it is about narrower: `x.float()`, `x.to(device, torch.float32)`, `x.type_as(y)`.
fn narrows(facts: &Facts<'_>, outer: &Expr) -> bool {
    const METHODS: &[&str] =
        &["float", "half", "bfloat16", "long", "int", "short", "byte", "bool", "type", "type_as", "astype"];
    match outer {
        Expr::Attribute(node) => METHODS.contains(&node.attr.as_str()),
        Expr::Call(node) => {
            let moves = last_name(&node.func) == Some("to");
            let given = facts.written(&node.arguments);
            let named = || ["float", "half", "int", "long", "type"].iter().any(|word| given.contains(word));
            let makes = last_name(&node.func).is_some_and(|name| name.ends_with("Tensor"));
            makes || moves && named() || node.arguments.find_keyword("dtype").is_some()
        }
        _ => false,
    }
}

/// Whether the attribute the tensor is put into is made narrower where it is read: `self.grid.float()`.
fn is_narrowed_elsewhere(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let Some(Stmt::Assign(assign)) = facts.statement(call.at.stmt).map(|statement| statement.node) else {
        return false;
    };
    let attributes = assign.targets.iter().filter_map(Expr::as_attribute_expr).map(|node| node.attr.as_str());
    let read = |name: &str, method: &str| facts.source.text.contains(&format!("{name}.{method}("));
    attributes.into_iter().any(|name| ["float", "half", "to", "type", "type_as"].iter().any(|way| read(name, way)))
}

/// The name that holds the tensor, as it is or moved.
fn name_given<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<&'a str> {
    match facts.statement(call.at.stmt)?.node {
        Stmt::Assign(assign) if assign.value.start() == call.node.start() => match assign.targets.as_slice() {
            [Expr::Name(name)] => Some(name.id.as_str()),
            _ => None,
        },
        _ => None,
    }
}

/// Whether an array has a few hundred numbers at most, in plain sight.
fn is_few(facts: &Facts<'_>, maker: &Expr) -> bool {
    const FEW: u64 = 512;
    let Some(call) = facts.call_at(maker) else { return false };
    let arguments = &call.node.arguments.args;
    let shape: Vec<&Expr> = match call.name {
        "array" | "asarray" => return true,
        "linspace" => call.keyword("num").or_else(|| call.arg(2)).into_iter().collect(),
        "rand" | "randn" => arguments.iter().collect(),
        "eye" | "identity" => call.arg(0).into_iter().chain(call.arg(0)).collect(),
        "normal" | "uniform" => call.keyword("size").or_else(|| call.arg(2)).into_iter().collect(),
        "zeros" | "ones" | "empty" | "full" | "random" | "standard_normal" | "arange" => {
            call.keyword("size").or_else(|| call.arg(0)).into_iter().collect()
        }
        _ => return false,
    };
    let sizes = shape.into_iter().flat_map(|size| match size {
        Expr::Tuple(sizes) => sizes.elts.iter().collect(),
        size => vec![size],
    });
    let sizes: Vec<&Expr> = sizes.collect();
    // `(1, width)` is one vector.
    let is_vector = matches!(sizes.as_slice(), [one, _] if whole_number(one) == Some(1));
    let sizes: Option<Vec<u64>> = sizes.into_iter().map(whole_number).collect();
    let is_small = sizes.is_some_and(|sizes| {
        !sizes.is_empty() && sizes.iter().fold(1, |all: u64, size| all.saturating_mul(*size)) <= FEW
    });
    is_vector || is_small
}

/// Whether a few numbers make others 64-bit too: they are computed with, or picked from.
fn spreads(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let Some(name) = name_given(facts, call) else {
        return facts.around(call).iter().any(|outer| outer.is_bin_op_expr());
    };
    uses_in(facts.source.body(), name).iter().any(|found| match found.around.first() {
        Some(Expr::Subscript(node)) => node.value.range() == found.name.range(),
        Some(outer) => outer.is_bin_op_expr(),
        None => false,
    })
}

/// How a tensor gets to a GPU.
struct Moved {
    at: TextRange,
    /// Where what is read from it is made narrower, while it stays as it is.
    until: Option<TextRange>,
}

/// Where the tensor is moved to a GPU, when nothing narrows it on the way and it stays as wide.
fn goes_to_gpu<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<Moved> {
    let around = facts.around(call);
    let own = facts.makes_on_gpu(call).then_some(call);
    let moved = own.or_else(|| moved_at_once(facts, call, &around)).or_else(|| moved_later(facts, call))?;
    // What is only compared gives truth values, one byte each.
    let compared = around.iter().any(|outer| outer.is_compare_expr());
    if compared || around.iter().any(|outer| narrows(facts, outer)) || own.is_none() && moved.args.len() > 1 {
        return None;
    }
    let name = facts.bound_name(moved).or_else(|| facts.bound_name(call));
    let uses = name.map_or_else(Vec::new, |name| uses_in(facts.body_around(&call.at), name));
    let is_compared = |found: &Use<'_>| found.around.iter().any(|outer| outer.is_compare_expr());
    if !uses.is_empty() && uses.iter().all(is_compared) || is_narrowed_elsewhere(facts, call) {
        return None;
    }
    let mut narrowed = uses.iter().filter(|found| found.around.iter().take(3).any(|outer| narrows(facts, outer)));
    // What is bound to its own name again, or made narrower before it moves, is no longer there as it was.
    let replaced = |found: &Use<'_>| {
        let own = |target: &Expr| matches!(target, Expr::Name(bound) if Some(bound.id.as_str()) == name);
        let rebinds = matches!(found.stmt, Stmt::Assign(assign) if assign.targets.iter().any(own));
        rebinds || found.name.start() < moved.start()
    };
    match narrowed.next() {
        None => Some(Moved { at: moved.range(), until: None }),
        Some(first) if !replaced(first) && !narrowed.any(replaced) => {
            Some(Moved { at: moved.range(), until: Some(first.name.range()) })
        }
        Some(_) => None,
    }
}

/// The move in the chain of methods that starts with the tensor; what a function makes of it may be narrower.
fn moved_at_once<'f, 'a>(facts: &'f Facts<'a>, call: &Call<'a>, around: &[&'a Expr]) -> Option<&'f Call<'a>> {
    let mut inner = call.node.range();
    for outer in around.iter().filter(|outer| outer.range() != call.node.range()) {
        let chained = match outer {
            Expr::Attribute(node) => node.value.range() == inner,
            Expr::Subscript(node) => node.value.range() == inner,
            Expr::Call(node) => node.func.range() == inner,
            _ => false,
        };
        if !chained {
            return None;
        }
        if let Some(moved) = facts.call_at(outer).filter(|moved| facts.moves_to_gpu(moved)) {
            return Some(moved);
        }
        inner = outer.range();
    }
    None
}

/// Where the tensor, bound to a name, is moved to a GPU in the same function.
fn moved_later<'f, 'a>(facts: &'f Facts<'a>, call: &Call<'a>) -> Option<&'f Call<'a>> {
    let name = facts.bound_name(call)?;
    facts.calls().iter().find(|other| {
        other.at.function == call.at.function
            && other.at.order > call.at.order
            && other.receiver_expr().is_some_and(|expr| matches!(expr, Expr::Name(found) if found.id.as_str() == name))
            && facts.moves_to_gpu(other)
    })
}
