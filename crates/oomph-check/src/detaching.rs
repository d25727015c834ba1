//! Whether all that reads a holder takes its tensors out of their graph: then the graph was kept for nothing.

use crate::analysis::events::{At, Call};
use crate::facts::Facts;
use crate::python::ast::Comprehension;
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::uses::{last_name, uses_in};

/// A place where a holder is read.
pub(crate) struct Read<'a> {
    /// The name or attribute.
    pub(crate) place: TextRange,
    /// The expressions around it within its statement, innermost first.
    pub(crate) around: Vec<&'a Expr>,
    /// That statement, where a read on its own may mean something.
    pub(crate) stmt: Option<&'a Stmt>,
}

/// Every read of a name within statements.
pub(crate) fn reads_in<'a>(body: &'a [Stmt], name: &str) -> Vec<Read<'a>> {
    let uses = uses_in(body, name).into_iter();
    uses.map(|found| Read { place: found.name.range(), around: found.around, stmt: Some(found.stmt) }).collect()
}

/// The last place where what a holder collected is detached, when every read does that.
pub(crate) fn detached_by<'a>(facts: &Facts<'a>, reads: Vec<Read<'a>>, at: &At) -> Option<TextRange> {
    let mut late = None;
    for read in reads {
        match outcome(facts, &read) {
            Outcome::Fills => {}
            Outcome::Detaches => late = Some(read.place),
            Outcome::Leaves => late = Some(detached_by_callers(facts, &read, at)?),
            Outcome::Keeps => return None,
        }
    }
    late
}

/// What becomes of tensors where their holder is read.
enum Outcome {
    /// Nothing: more is added, or their number is asked for.
    Fills,
    /// What is made of them has no graph.
    Detaches,
    /// They are returned as they are.
    Leaves,
    /// The graph may be wanted.
    Keeps,
}

fn outcome(facts: &Facts<'_>, read: &Read<'_>) -> Outcome {
    let mut inner = read.place;
    for (depth, expr) in read.around.iter().enumerate() {
        match expr {
            Expr::Attribute(node) => match node.attr.as_str() {
                "append" if depth == 0 => return Outcome::Fills,
                "detach" | "item" | "tolist" | "data" => return Outcome::Detaches,
                "backward" | "clear" | "pop" | "extend" | "insert" => return Outcome::Keeps,
                _ => {}
            },
            Expr::Call(call) => {
                if depth == 0 && last_name(&call.func) == Some("len") {
                    return Outcome::Fills;
                }
                let given = call.func.range().end() <= inner.start();
                // `torch.stack(values)` under `no_grad` makes something without a graph; `zip(names, values)` does not.
                let off = |found: &Call<'_>| {
                    let copies = matches!(found.name, "stack" | "cat" | "tensor");
                    copies && found.at.grad.is_off() && found.node.range() == call.range()
                };
                if given && matches!(last_name(&call.func), Some("float" | "int")) || facts.calls().iter().any(off) {
                    return Outcome::Detaches;
                }
                // A function that is not torch's may keep what it is given.
                let makes = |found: &Call<'_>| {
                    let torch = facts.full_name(found).is_some_and(|name| name.starts_with("torch."));
                    torch && found.node.range() == call.range()
                };
                if given && !facts.calls().iter().any(makes) {
                    return Outcome::Keeps;
                }
            }
            Expr::Subscript(node) if node.value.range() == inner => {}
            Expr::BinOp(_) | Expr::UnaryOp(_) => {}
            Expr::ListComp(node) if takes_out_each(facts, &node.elt, &node.generators, inner) => {
                return Outcome::Detaches;
            }
            Expr::Generator(node) if takes_out_each(facts, &node.elt, &node.generators, inner) => {
                return Outcome::Detaches;
            }
            Expr::Tuple(_) if depth + 1 == read.around.len() => {}
            _ => return Outcome::Keeps,
        }
        inner = expr.range();
    }
    let plain = read.around.iter().all(|expr| expr.is_tuple_expr());
    match read.stmt {
        Some(Stmt::Return(_)) if plain => Outcome::Leaves,
        Some(Stmt::If(_)) if read.around.is_empty() => Outcome::Fills,
        _ => Outcome::Keeps,
    }
}

/// `[value.item() for value in values]`.
fn takes_out_each(facts: &Facts<'_>, each: &Expr, generators: &[Comprehension], walked: TextRange) -> bool {
    let [only] = generators else { return false };
    let Expr::Name(name) = &only.target else { return false };
    let Expr::Call(call) = each else { return false };
    let Expr::Attribute(method) = &*call.func else { return false };
    only.iter.range() == walked
        && matches!(method.attr.as_str(), "item" | "detach" | "tolist")
        && facts.mentions_word(method.value.range(), name.id.as_str())
}

/// The same where a function returns the holder: all its callers are in this file, and do that.
fn detached_by_callers<'a>(facts: &Facts<'a>, read: &Read<'a>, at: &At) -> Option<TextRange> {
    let Some(Stmt::Return(ret)) = read.stmt else { return None };
    let place = match ret.value.as_deref()? {
        Expr::Tuple(tuple) => Some(tuple.elts.iter().position(|part| part.range() == read.place)?),
        _ => None,
    };
    let name = facts.function_name(at);
    let imported = |full: &String| full.rsplit('.').next() == Some(name);
    if facts.class_at(at).is_some() || facts.tables().outlines.iter().any(|file| file.imports.values().any(imported)) {
        return None;
    }
    let mut late = None;
    for call in facts.callers_of(at).filter(|call| call.at.function != at.function) {
        let Stmt::Assign(assign) = facts.statement(call.at.stmt)?.node else { return None };
        let [target] = &assign.targets[..] else { return None };
        let target = match (target, place) {
            (Expr::Tuple(parts), Some(place)) => parts.elts.get(place)?,
            (whole, None) => whole,
            _ => return None,
        };
        let Expr::Name(name) = target else { return None };
        if assign.value.range() != call.node.range() {
            return None;
        }
        let reads = reads_in(facts.body_around(&call.at), name.id.as_str());
        // A list that goes on to another caller is not followed.
        if reads.iter().any(|read| matches!(outcome(facts, read), Outcome::Leaves)) {
            return None;
        }
        late = Some(detached_by(facts, reads, &call.at)?);
    }
    late
}
