//! `activation-kept-on-module`: `forward` leaves an activation on `self` that nothing reads.

use crate::analysis::events::{At, Bind, BlockKind, Call, Root, Store, StoreKind};
use crate::analysis::value::{ClassId, Flags};
use crate::facts::{Facts, FunctionKind};
use crate::finding::Safety;
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_body, walk_expr};
use crate::python::{Expr, Ranged, Stmt, TextRange, TextSize};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "activation-kept-on-module",
    group: Group::Graph,
    size: Size::per_batch(Amount::Activations),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "`forward` keeps an activation with its graph as an attribute that nothing else reads.",
    why: "The attribute outlives the call. The activation, and the graph behind it, stay until the next forward pass puts \
          another in its place, and by then that one exists too.",
    cost: "The activation between steps and twice at the peak; without a backward pass also every saved activation it \
           hangs on. An attention map of 16 heads over 4,096 tokens is 1 GB in float32.",
    instead: "A local variable, or return it. For debugging, `self.attn = attn.detach()` behind a flag.",
    when_not: "Another method or another module reads it, as for a loss computed later.",
    programs: include_str!("activation_kept_on_module.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for store in facts.stores() {
        let Root::SelfAttribute(name) = store.root else { continue };
        let fixed_item = || store.kind == StoreKind::Item && has_literal_key(facts, store);
        if store.kind != StoreKind::Attribute && !fixed_item()
            || !runs_in_forward(facts, &store.at)
            || !store.value.keeps_graph()
        {
            continue;
        }
        if !matches!(store.target, Expr::Attribute(target) if matches!(&*target.value, Expr::Name(_))) {
            continue;
        }
        let always = facts
            .blocks_around(&store.at)
            .all(|(_, block)| block.kind.is_unconditional() || matches!(block.kind, BlockKind::Function(_)));
        if !always || store.value.has(Flags::LOSS) || store.value.has(Flags::SCALAR) {
            continue;
        }
        if is_fed_detached(facts, store) || facts.comes_from_unrecorded(&store.value, &store.at) {
            continue;
        }
        if is_kept_anyway(facts, store) || is_given_out(facts, store, name) {
            continue;
        }
        if is_used_elsewhere(facts, store, name) || is_cleared(facts, store, name) || is_state(facts, store, name) {
            continue;
        }
        report
            .add(store, format!("`self.{name}` keeps an activation with its graph until the next forward pass, and nothing else reads it"))
            .doubtful_if(is_mask_beside(facts, store))
            .made_by_if(facts.forward_pass(&store.value, &store.at), "this makes the graph it hangs on")
            .because(store.target, format!("the project reads `{name}` nowhere outside this method"))
            .unsafe_fix("Detach what is kept", detached(facts, store));
    }
}

/// Whether a point is in a model's `forward`, or in a method that this calls on every pass.
fn runs_in_forward(facts: &Facts<'_>, at: &At) -> bool {
    let is_forward = |at: &At| facts.kind_at(at) == FunctionKind::Forward;
    let by_forward = || {
        let class = facts.class_at(at);
        let own = |call: &Call<'_>| is_forward(&call.at) && facts.class_at(&call.at) == class;
        let always = |call: &Call<'_>| facts.is_unconditional_in(&call.at, facts.function_block(&call.at));
        let mut calls = facts.callers_of(at).peekable();
        calls.peek().is_some() && calls.all(|call| own(call) && always(call))
    };
    is_forward(at) || facts.class_kind(at).is_module() && facts.kind_at(at) == FunctionKind::Plain && by_forward()
}

/// Whether an item is put under the same key on every pass: `self.cache["hidden"] = h`.
fn has_literal_key(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let Some(Stmt::Assign(assign)) = facts.statement(store.at.stmt).map(|found| found.node) else { return false };
    assign.targets.iter().filter_map(Expr::as_subscript_expr).any(|target| target.slice.is_string_literal_expr())
}

/// Whether a pass it comes from takes nothing but detached tensors: without parameters of its own it makes no graph.
fn is_fed_detached(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let passes: Vec<TextRange> = facts.forward_passes(&store.value, &store.at).collect();
    facts.calls().iter().filter(|call| passes.contains(&call.node.range())).any(|call| {
        let mut inputs = call.values().peekable();
        inputs.peek().is_some() && inputs.all(|input| input.has(Flags::DETACHED))
    })
}

/// Whether it is a mask that a module returned beside its output: most compute theirs without a graph.
fn is_mask_beside(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let Expr::Name(name) = store.value_expr else { return false };
    let name = name.id.as_str();
    let beside = |stmt: &Stmt| match stmt {
        Stmt::Assign(assign) => assign.targets.iter().any(|target| match target {
            Expr::Tuple(parts) => parts.elts.iter().skip(1).any(|part| facts.target_binds(part, name)),
            _ => false,
        }),
        _ => false,
    };
    let around = facts.function(&store.at).map(|function| function.node.range());
    let own = |stmt: &Stmt| around.is_some_and(|around| around.contains_range(stmt.range()));
    name.contains("mask") && facts.statements().iter().any(|found| own(found.node) && beside(found.node))
}

/// Whether another attribute that is read, or given out, keeps the same graph: this one adds nothing to it.
fn is_kept_anyway(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    facts.stores().iter().any(|other| match other.root {
        Root::SelfAttribute(name) => {
            other.kind == StoreKind::Attribute
                && other.at.function == store.at.function
                && other.at.stmt != store.at.stmt
                && other.value.keeps_graph()
                && other.value.sources.sites().overlap(store.value.sources.sites())
                && (is_used_elsewhere(facts, other, name) || is_given_out(facts, other, name))
        }
        _ => false,
    })
}

/// Whether `forward` returns the very tensor: whoever called it has it until the next pass as well.
fn is_given_out(facts: &Facts<'_>, store: &Store<'_>, name: &str) -> bool {
    let is_it = |expr: &Expr| match expr {
        Expr::Attribute(node) => node.attr.as_str() == name,
        Expr::Name(node) => {
            let rebound = |bind: &Bind<'_>| bind.at.function == store.at.function && bind.at.order > store.at.order;
            let same = matches!(store.value_expr, Expr::Name(kept) if kept.id == node.id);
            same && !facts.binds_of(node.id.as_str()).any(rebound)
        }
        _ => false,
    };
    facts.returns().iter().filter(|ret| ret.at.function == store.at.function).any(|ret| match ret.expr {
        Expr::Tuple(tuple) => tuple.elts.iter().any(is_it),
        Expr::List(list) => list.elts.iter().any(is_it),
        Expr::Dict(dict) => dict.items.iter().any(|item| is_it(&item.value)),
        other => is_it(other),
    })
}

/// Whether anything but this `forward` may read the attribute: other code of the project, or a string naming it.
fn is_used_elsewhere(facts: &Facts<'_>, store: &Store<'_>, name: &str) -> bool {
    let Some(function) = facts.function(&store.at) else { return true };
    let here = attribute_reads(&function.node.body, name, facts.end());
    let quoted = [format!("'{name}'"), format!("\"{name}\"")];
    // A file that is not seen to import this one may belong to another program; a library's losses are used by name alone.
    let reads =
        if is_in_criterion(facts, store) { facts.tables().attribute_reads(name) } else { facts.attribute_reads(name) };
    is_read_by_computed_name(facts, store) || reads > here || quoted.iter().any(|text| facts.source.text.contains(text))
}

fn is_in_criterion(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let class = facts.class_at(&store.at).map(|class| &facts.outline().classes[class.index as usize]);
    class.is_some_and(|class| crate::analysis::guesses::makes_criterion(class.node.name.as_str()))
}

/// Whether the class, a base or a user of it reads attributes by computed names: it may read any.
fn is_read_by_computed_name(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let Some(own) = facts.class_at(&store.at) else { return true };
    let tables = facts.tables();
    let ancestry = tables.ancestry(own);
    tables.files_of_process(facts.file_index()).into_iter().any(|file| {
        let outline = &tables.outlines[file as usize];
        let related = |index: &u32| {
            let class = ClassId { file, index: *index };
            ancestry.contains(&class) || tables.ancestry(class).contains(&own)
        };
        outline.reads_by_name || outline.self_readers.iter().any(related)
    })
}

/// Whether this `forward` reads what the last one left: a recurrent state must be kept.
fn is_state(facts: &Facts<'_>, store: &Store<'_>, name: &str) -> bool {
    let Some(function) = facts.function(&store.at) else { return true };
    // `self.cache["x"] = h` reads `self.cache` itself.
    let until = if store.kind == StoreKind::Item { store.range.start() } else { store.range.end() };
    attribute_reads(&function.node.body, name, until) > 0
}

/// Whether the attribute is deleted or overwritten in the same function.
fn is_cleared(facts: &Facts<'_>, store: &Store<'_>, name: &str) -> bool {
    let deleted = facts.deletes().iter().any(|delete| {
        delete.at.function == store.at.function && facts.source.slice(delete.target.range()).ends_with(name)
    });
    let rebound =
        facts.binds_of(name).filter(|bind| bind.at.function == store.at.function && bind.at.order > store.at.order);
    deleted || rebound.into_iter().any(|bind| bind.at.stmt != store.at.stmt)
}

/// How often an attribute of this name is read within statements, up to a point.
fn attribute_reads(body: &[crate::python::Stmt], name: &str, until: TextSize) -> u32 {
    struct Count<'n> {
        name: &'n str,
        until: TextSize,
        reads: u32,
    }
    impl<'a> SourceOrderVisitor<'a> for Count<'_> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Attribute(node) = expr {
                let counts = node.attr.as_str() == self.name && node.ctx.is_load() && node.end() <= self.until;
                self.reads += u32::from(counts);
            }
            walk_expr(self, expr);
        }
    }
    let mut count = Count { name, until, reads: 0 };
    walk_body(&mut count, body);
    count.reads
}

fn detached(facts: &Facts<'_>, store: &Store<'_>) -> Vec<crate::finding::Edit> {
    let read_back = facts.function(&store.at).is_some_and(|function| match store.root {
        Root::SelfAttribute(name) => attribute_reads(&function.node.body, name, facts.end()) > 0,
        _ => true,
    });
    if read_back { Vec::new() } else { facts.call_method_on(store.value_expr, "detach") }
}
