//! `model-rebuilt-in-cell`: running a cell again keeps the old model alive.

use crate::analysis::events::Call;
use crate::analysis::value::{Device, Kind};
use crate::facts::Facts;
use crate::python::Ranged;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "model-rebuilt-in-cell",
    group: Group::Frameworks,
    size: Size::once(Amount::Model),
    is_opportunity: true,
    fix: None,
    summary: "A cell builds a model on the GPU, and another cell's optimizer holds its weights.",
    why: "Run again, the cell builds the new model while the old one is alive; the optimizer, made elsewhere, then keeps \
          the old weights and their state.",
    cost: "All parameters twice while the cell runs; the old weights, gradients and state for good after it.",
    instead: "Begin the cell with `del model, optimizer`, or build both in one cell.",
    when_not: "The cell is run once.",
    programs: include_str!("model_rebuilt_in_cell.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let cell_of = |place: &dyn Fn() -> crate::python::TextRange| {
        let start = place().start();
        facts.source.cells.iter().rev().find(|cell| cell.range.start() <= start).map(|cell| cell.number)
    };
    for call in facts.calls() {
        let Some(name) = facts.bound_name(call) else { continue };
        if facts.source.cells.is_empty()
            || call.at.function.is_some()
            || !(facts.moves_to_gpu(call) || is_built_there(facts, call))
            || !call.result.is_module()
        {
            continue;
        }
        let own = format!("{name}.parameters(");
        let optimizer = facts.calls().iter().find(|other| {
            other.result.kind == Kind::Optimizer && other.at.function.is_none() && facts.written(*other).contains(&own)
        });
        let Some(optimizer) = optimizer else { continue };
        if cell_of(&|| optimizer.range()) == cell_of(&|| call.range()) {
            continue;
        }
        report
            .add(
                call,
                format!("Run again, this cell leaves the old `{name}` on the GPU: the optimizer holds its weights"),
            )
            .because(optimizer, "made in another cell");
    }
}

/// Whether a function of the notebook builds the model on the GPU.
fn is_built_there(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    call.result.device == Device::Cuda && facts.callee_summary(call).is_some()
}
