//! What a function does whenever it runs, for the summary its callers see, and what a backward pass shows.

use super::events::BlockKind;
use super::outline::dotted;
use super::value::{Flags, Graph, Kind, Value};
use super::walk::Walker;
use crate::python::ast::{BoolOp, Operator};
use crate::python::{Expr, Ranged};

impl<'a> Walker<'a, '_> {
    /// Notes that the allocator's cache is emptied here.
    pub(super) fn empties_cache(&mut self) {
        self.f.summary.empties_cache |= self.always_runs();
    }

    /// Learns from a backward pass that what it went over has a graph, where nothing else said so.
    pub(super) fn went_back(&mut self, expr: &'a Expr) {
        match expr {
            Expr::BinOp(sum) if sum.op == Operator::Add => {
                for part in [&*sum.left, &*sum.right] {
                    // `loss + penalty`: the other part may be a number.
                    if matches!(part, Expr::BinOp(_)) || self.source.slice(part.range()).contains("loss") {
                        self.went_back(part);
                    }
                }
            }
            Expr::BinOp(scaled) if matches!(scaled.op, Operator::Div | Operator::Mult) => {
                let named = |side: &Expr| self.source.slice(side.range()).contains("loss");
                let side = if named(&scaled.left) { &*scaled.left } else { &*scaled.right };
                if named(side) {
                    self.went_back(side);
                }
            }
            Expr::Name(_) => self.has_graph(expr, Value { graph: Graph::Likely, ..Value::data() }),
            // `out["loss"].backward()`, `out.loss.backward()`: the record holds it, beside what nobody knows.
            Expr::Subscript(item) if self.source.slice(item.slice.range()).contains("loss") => {
                self.has_graph(&item.value, record());
            }
            Expr::Attribute(item) if item.attr.as_str().contains("loss") => self.has_graph(&item.value, record()),
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(method) if matches!(method.attr.as_str(), "mean" | "sum") => {
                    self.went_back(&method.value);
                }
                Expr::Attribute(method) if method.attr.as_str() == "scale" => {
                    if let Some(loss) = call.arguments.args.first() {
                        self.went_back(loss);
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// Says what a local name is, where nothing or not much was known.
    fn has_graph(&mut self, expr: &'a Expr, shown: Value) {
        let Expr::Name(name) = expr else { return };
        let slot = self.f.env.name(name.id.as_str());
        let Some(old) = self.f.env.get(slot).cloned() else { return };
        let is_open = match old.kind {
            Kind::Unknown => true,
            Kind::Tensor => shown.is_tensor() && old.graph < Graph::Likely && !old.has(Flags::LEAF),
            _ => false,
        };
        // What goes back is a tensor with a graph, whatever its name said.
        if old.is_tensor() && old.has(Flags::GUESSED) && old.graph >= Graph::Likely {
            self.f.env.update(slot, Some(old.unflagged(Flags::GUESSED)));
        } else if is_open {
            let flags = old.flags.with(shown.flags);
            let seen = Value { flags, sources: old.sources, made_at: old.made_at, born: old.born, ..shown };
            self.f.env.update(slot, Some(seen));
        }
    }

    /// Whether this point runs whenever its function does, given a GPU.
    fn always_runs(&self) -> bool {
        let mut block = self.f.block;
        loop {
            let found = &self.log.blocks[block.0 as usize];
            match found.kind {
                BlockKind::Function(_) => return true,
                BlockKind::With(_) | BlockKind::Try | BlockKind::Finally => {}
                BlockKind::If(Some(test)) if asks_for_gpu(test) => {}
                _ => return false,
            }
            block = found.parent;
        }
    }
}

/// A record of which only the loss is known.
fn record() -> Value {
    let loss = Value { graph: Graph::Likely, ..Value::data() }.flagged(Flags::LOSS);
    Value::tuple(vec![loss, Value::unknown()])
}

/// Whether a test only asks for a GPU: `torch.cuda.is_available()`.
fn asks_for_gpu(test: &Expr) -> bool {
    match test {
        Expr::Call(call) => {
            let name = dotted(&call.func).unwrap_or_default();
            ["cuda.is_available", "cuda.is_initialized", "accelerator.is_available"]
                .iter()
                .any(|asked| name.ends_with(asked))
        }
        Expr::BoolOp(node) => node.op == BoolOp::And && node.values.iter().all(asks_for_gpu),
        _ => false,
    }
}
