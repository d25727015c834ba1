//! `view-keeps-whole-storage`: a kept row keeps the whole tensor it was cut from.

use crate::analysis::events::{Store, StoreKind};
use crate::analysis::value::{Flags, Graph, Kind};
use crate::facts::Facts;
use crate::finding::Safety;
use crate::python::{Expr, Ranged};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "view-keeps-whole-storage",
    group: Group::Graph,
    size: Size::per_batch(Amount::Batch),
    is_opportunity: true,
    fix: Some(Safety::Safe),
    summary: "A small slice of each batch's tensor is kept, and with it the whole tensor.",
    why: "Indexing with numbers and slices gives a view: it shares the storage of the tensor it was cut from. As long as \
          the view lives, all of that storage does. `detach()` changes nothing about it.",
    cost: "The full tensor per slice kept: a row of 4 kB held 4 MB alive when measured.",
    instead: "Copy what is kept: `big[0].detach().clone()`.",
    when_not: "The whole tensor is kept anyway, or the slice is most of it.",
    programs: include_str!("view_keeps_whole_storage.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for store in facts.stores() {
        let grows = matches!(store.kind, StoreKind::Append | StoreKind::Item) && !store.holder.is_tensor();
        let without_graph = store.value.is_tensor() && store.value.graph == Graph::No && !store.value.has(Flags::LOSS);
        let made_under = store.value.has(Flags::NO_GRAD) || store.value.has(Flags::DETACHED);
        if !grows || !without_graph || !made_under || store.via.is_some() {
            continue;
        }
        let Some(slice) = small_slice(facts, store, store.value_expr) else { continue };
        let Some(batches) = facts.batch_loop(&store.at) else { continue };
        let kept =
            facts.outlives(&store.holder, &batches) && !facts.is_emptied_in(store.target, batches.block, store.at.stmt);
        if !kept || is_base_kept(facts, store, slice) {
            continue;
        }
        let (text, target) = (facts.source.slice(slice.range()), facts.source.slice(store.target.range()));
        report
            .add(
                store,
                format!("`{target}` keeps `{text}`, a view: the whole tensor it was cut from stays alive with it"),
            )
            .because(slice, "an index of numbers and slices shares the storage")
            .because(&batches.head(), "once a batch")
            .safe_fix("Keep a copy of the slice", facts.call_method_on(store.value_expr, "clone"));
    }
}

/// The subscript inside `x[0]`, `x[:, 0].detach()`, when it surely is a view and surely is small.
fn small_slice<'e>(facts: &Facts<'_>, store: &Store<'_>, expr: &'e Expr) -> Option<&'e Expr> {
    match expr {
        // `loss.data[0]` is how old code wrote `loss.item()`.
        Expr::Subscript(node) if matches!(&*node.value, Expr::Attribute(base) if base.attr.as_str() == "data") => None,
        Expr::Subscript(node) => {
            (is_small_index(&node.slice) || is_one_of_few(facts, store, &node.slice)).then_some(expr)
        }
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) if method.attr.as_str() == "detach" => small_slice(facts, store, &method.value),
            _ => None,
        },
        _ => None,
    }
}

/// Whether some dimension is cut down to one place or a literal few, and no index makes a copy.
fn is_small_index(index: &Expr) -> bool {
    let items = match index {
        Expr::Tuple(tuple) => &tuple.elts[..],
        other => std::slice::from_ref(other),
    };
    items
        .iter()
        .all(|item| is_number(item) || matches!(item, Expr::Slice(_) | Expr::EllipsisLiteral(_) | Expr::NoneLiteral(_)))
        && items.iter().any(is_number)
}

/// Whether the index is the number of a row in a loop over all of them, which keeps only some: `if label not in kept:`.
fn is_one_of_few(facts: &Facts<'_>, store: &Store<'_>, index: &Expr) -> bool {
    let Expr::Name(name) = index else { return false };
    let Some(rows) = facts.loops(&store.at).next() else { return false };
    let counted = facts
        .binds_of(name.id.as_str())
        .any(|bind| bind.value.kind == Kind::Number && bind.at.function == store.at.function);
    counted && !facts.is_unconditional_in(&store.at, rows.block)
}

fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::NumberLiteral(_) => true,
        Expr::UnaryOp(node) => is_number(&node.operand),
        _ => false,
    }
}

/// Whether the tensor the slice was cut from is kept as well.
fn is_base_kept(facts: &Facts<'_>, store: &Store<'_>, slice: &Expr) -> bool {
    let Expr::Subscript(node) = slice else { return true };
    let base = facts.source.slice(node.value.range());
    facts.stores().iter().any(|other| {
        other.at.function == store.at.function
            && other.range != store.range
            && facts.source.slice(other.value_expr.range()).trim_end_matches(".detach()") == base
    })
}
