//! `build-on-gpu-then-load`: weights exist twice at start-up.

use crate::analysis::value::Device;
use crate::facts::Facts;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "build-on-gpu-then-load",
    group: Group::Data,
    size: Size::once(Amount::Model),
    is_opportunity: true,
    fix: None,
    summary: "A model is built on the GPU and a checkpoint is loaded there beside it.",
    why: "Random weights and loaded weights are both on the GPU until the copy is done. For inference that is often the \
          peak of the whole job.",
    cost: "All parameters twice, at start-up.",
    instead: "`torch.load(path, map_location=\"cpu\", mmap=True)`; for large models build under `torch.device(\"meta\")` and \
              `load_state_dict(state, assign=True)`.",
    when_not: "Training follows, which needs more than that anyway.",
    programs: include_str!("build_on_gpu_then_load.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for load in facts.calls_to("torch.load") {
        let Some(place) = load.keyword("map_location").or_else(|| load.arg(1)) else { continue };
        let around = facts.around(load);
        let Some(copy) =
            around.iter().find_map(|outer| facts.call_at(outer)).filter(|call| call.name == "load_state_dict")
        else {
            continue;
        };
        let Some(model) = copy.receiver_expr() else { continue };
        let on_gpu = copy.receiver.as_ref().is_some_and(|value| value.device == Device::Cuda) || {
            let moved = |call: &&crate::analysis::events::Call<'_>| {
                facts.moves_to_gpu(call) && call.at.order < load.at.order && call.at.function == load.at.function
            };
            facts
                .calls()
                .iter()
                .filter(moved)
                .any(|call| facts.bound_name(call).is_some_and(|name| last_name(model) == Some(name)))
        };
        if !facts.is_gpu(place) || !on_gpu || copy.keyword("assign").is_some() {
            continue;
        }
        let name = facts.written(model);
        report
            .add(load, format!("The weights of `{name}` are on the GPU twice while this loads"))
            .because(place, "the checkpoint goes to the GPU")
            .because(model, "the model is there already");
    }
}
