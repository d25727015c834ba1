//! `checkpoint-dict-kept`: a loaded checkpoint stays alive for the whole run.

use crate::analysis::events::{BlockKind, Call, Callee, LoopKind, StmtId};
use crate::analysis::value::BlockId;
use crate::facts::{Effect, Facts, Loop, Often};
use crate::finding::{Edit, Safety};
use crate::loaded::is_no_network;
use crate::python::ast::ExprAttribute;
use crate::python::{Expr, ExprCall, Ranged, Stmt, TextRange, root_name};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{Use, attribute_uses, last_name, parts_of, string_of, uses_in};

pub(super) static RULE: Rule = Rule {
    name: "checkpoint-dict-kept",
    group: Group::Data,
    size: Size::once(Amount::Model),
    is_opportunity: false,
    fix: Some(Safety::Safe),
    summary: "A checkpoint loaded to the GPU stays alive while the model trains, or as long as what holds it.",
    why: "`load_state_dict` of a module copies. The loaded dict with its own copy of the weights lives as long as its name \
          does: until the function that trains returns, and for ever in a module or an attribute.",
    cost: "All parameters once more; an average of the weights in the same file comes on top.",
    instead: "Load with `map_location=\"cpu\"` and `del` the dict after the last `load_state_dict`, or load in a function \
              of its own.",
    when_not: "The file holds a handful of numbers.",
    programs: include_str!("checkpoint_dict_kept.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_to("torch.load") {
        if !goes_to_gpu(facts, call) || !says_gpu(call) && facts.is_from_cpu(call) || facts.never_runs(&call.at) {
            continue;
        }
        if let Some(name) = facts.bound_name(call) {
            kept_by_name(facts, report, call, name);
        } else if let Some(attribute) = bound_attribute(facts, call) {
            kept_by_object(facts, report, call, attribute);
        }
    }
}

/// Said of the load: where that goes to the CPU, there is no copy to keep.
const LOADED: &str = "it is loaded onto the GPU here";

/// A checkpoint in a name that lives on while the model trains.
fn kept_by_name<'a>(facts: &Facts<'a>, report: &mut Report, call: &Call<'a>, name: &'a str) {
    let body = facts.body_around(&call.at);
    let mut uses = uses_in(body, name);
    let mut parts: Vec<Use<'_>> = parts_of(body, name).into_iter().flat_map(|part| uses_in(body, part)).collect();
    // Another load may have the same name, before this one or in another branch.
    uses.retain(|found| facts.is_read_at(call, found));
    parts.retain(|found| facts.is_read_at(call, found));
    let Some(load) = uses.iter().chain(&parts).find(|found| goes_into_model(facts, found)) else { return };
    // A bare dict of weights may come from anywhere, the CPU too; a checkpoint of this program comes from its GPU.
    let own = !parts.is_empty() || load.around.first().is_some_and(|around| around.is_subscript_expr());
    if !says_gpu(call) && !own || is_taken_out(load) {
        return;
    }
    let into = load.calls().find(|made| loads_model(facts, made));
    if into.is_some_and(|into| facts.is_model_of(name, into, &call.at)) {
        return;
    }
    if handed_to_object(facts, report, call, name, load) {
        return;
    }
    let Some(training) = trains_after(facts, call, into) else {
        kept_by_server(facts, report, call, name, load);
        return;
    };
    // Read after the training: it is there to go back to.
    if training.at.function == call.at.function && facts.read_at(load.name) > facts.read_at(training) {
        return;
    }
    let gone = facts
        .deletes()
        .iter()
        .any(|delete| delete.at.function == call.at.function && facts.written(delete.target) == name);
    let same_body = training.at.function == call.at.function;
    let rebound = facts.binds_of(name).any(|bind| {
        let between = !same_body || (call.at.order..training.at.order).contains(&bind.at.order);
        bind.at.function == call.at.function && bind.at.stmt != call.at.stmt && between
    });
    let read_later = uses.iter().any(|found| facts.read_at(found.name) > facts.read_at(training));
    if gone || rebound {
        return;
    }
    // A second model may take its weights from the same file.
    let before = |found: &&Use<'_>| !same_body || facts.read_at(found.name) < facts.read_at(training);
    let loads = uses.iter().chain(&parts).filter(|found| goes_into_model(facts, found));
    let last_load = loads.filter(before).max_by_key(|found| found.name.start()).unwrap_or(load);
    let needed = uses
        .iter()
        .chain(&parts)
        .any(|found| found.name.start() > last_load.name.start() && goes_into_model(facts, found));
    let finding =
        report.add(call, format!("`{name}` keeps its own copy of the weights on the GPU while the model trains"));
    finding
        .doubtful_if(needed)
        .made_by_if(Some(call.range()), LOADED)
        .because(last_load.name, "its tensors are copied into the model here and not needed again")
        .because(training, "training runs with the copy still alive");
    let last = last_statement(facts, call, &uses).filter(|_| !read_later && parts.is_empty() && same_body);
    if let Some(last) = last {
        finding.safe_fix(format!("Delete `{name}` after its last use"), delete_after(facts, last, name));
    }
}

/// A checkpoint in a name of the module, beside a model that the file's functions run on demand.
fn kept_by_server<'a>(facts: &Facts<'a>, report: &mut Report, call: &Call<'a>, name: &'a str, load: &Use<'a>) {
    let model = load.calls().find_map(|call| match &*call.func {
        Expr::Attribute(method) if method.attr.as_str() == "load_state_dict" => Some(facts.written(&*method.value)),
        _ => None,
    });
    let functions = &facts.outline().functions;
    let uses = uses_in(facts.source.body(), name);
    let read_later = uses
        .iter()
        .any(|found| functions.iter().any(|function| function.node.range().contains_range(found.name.range())));
    let gone = facts.deletes().iter().any(|delete| facts.written(delete.target) == name)
        || facts.binds_of(name).any(|bind| bind.at.stmt != call.at.stmt);
    // A script's main part ends with its work; a module that others import lives on.
    let of_module = call.at.block == BlockId::MODULE && facts.source.cells.is_empty() && says_gpu(call);
    let serves = facts.calls().iter().find(|other| {
        let runs = other.at.function.is_some() && other.callee == Callee::Module;
        runs && model == Some(facts.written(&*other.node.func))
    });
    let serves = serves.filter(|_| of_module && !read_later);
    let of_module = serves.is_some();
    let here = || facts.run_in_loop_after(call, model?, name).filter(|_| says_gpu(call));
    let Some(serves) = serves.or_else(here).filter(|_| !gone) else { return };
    let until = if of_module { "as long as the program runs" } else { "while the model works" };
    let left = model.is_some_and(|model| facts.is_left_where_made(model));
    report
        .add(call, format!("`{name}` keeps its own copy of the weights on the GPU {until}"))
        .doubtful_if(left)
        .made_by_if(Some(call.range()), LOADED)
        .because(load.name, "its tensors are copied into the model here, and nothing reads them again")
        .because(serves, "the model works on with the copy still alive");
}

/// A checkpoint in an attribute that only `load_state_dict` reads: it lives as long as the object.
fn kept_by_object<'a>(facts: &Facts<'a>, report: &mut Report, call: &Call<'a>, attribute: &'a ExprAttribute) {
    let name = attribute.attr.as_str();
    let text = facts.written(attribute);
    let body = facts.body_around(&call.at);
    let reads: Vec<Use<'_>> = attribute_uses(body, attribute);
    let Some(load) = reads.iter().find(|found| goes_into_model(facts, found)) else { return };
    let elsewhere = facts.attribute_reads(name) as usize > reads.len();
    let gone = facts.deletes().iter().any(|delete| facts.written(delete.target) == text)
        || facts.binds_of(name).any(|bind| bind.at.stmt != call.at.stmt);
    if elsewhere || gone || is_taken_out(load) {
        return;
    }
    report
        .add(call, format!("`{text}` keeps its own copy of the weights on the GPU as long as the object lives"))
        .made_by_if(Some(call.range()), LOADED)
        .because(load.name, "its tensors are copied into the model here, and nothing reads them again");
}

/// `self.checkpoint = checkpoint` beside a model that has its weights: told if later reads want other parts of it alone.
fn handed_to_object<'a>(
    facts: &Facts<'a>,
    report: &mut Report,
    call: &Call<'a>,
    name: &'a str,
    load: &Use<'a>,
) -> bool {
    let Some(Expr::Subscript(weights)) = load.around.first() else { return false };
    let Some(loaded) = string_of(&weights.slice).filter(|_| says_gpu(call)) else { return false };
    let handed = facts.binds().iter().find_map(|bind| {
        let own = bind.at.function == call.at.function && bind.at.order > call.at.order;
        let whole = matches!(bind.value_expr, Some(Expr::Name(value)) if value.id.as_str() == name);
        let target = bind.target.as_attribute_expr().filter(|_| own && whole)?;
        (root_name(&target.value) == Some("self")).then_some(target)
    });
    let Some(attribute) = handed else { return false };
    let reads = attribute_uses(facts.source.body(), attribute);
    let other_part = |found: &Use<'_>| match (found.around.first(), found.around.get(1)) {
        (Some(Expr::Subscript(part)), _) => string_of(&part.slice).is_some_and(|key| key != loaded),
        (Some(Expr::Attribute(get)), Some(Expr::Call(part))) => {
            let key = part.arguments.args.first().and_then(string_of);
            get.attr.as_str() == "get" && key.is_some_and(|key| key != loaded)
        }
        _ => false,
    };
    let text = facts.written(attribute);
    let all_seen = facts.attribute_reads(attribute.attr.as_str()) as usize == reads.len();
    let gone = facts.deletes().iter().any(|delete| facts.written(delete.target) == text)
        || facts.binds_of(attribute.attr.as_str()).any(|bind| bind.value_expr.is_some_and(Expr::is_none_literal_expr));
    if !all_seen || gone || !reads.iter().all(other_part) {
        return false;
    }
    report
        .add(call, format!("`{text}` keeps its own copy of the weights on the GPU as long as the object lives"))
        .made_by_if(Some(call.range()), LOADED)
        .because(load.name, "its tensors are copied into the model here")
        .because(attribute, "the whole checkpoint is kept, and nothing reads the weights in it again");
    true
}

/// The attribute of `self` that a call's result is bound to.
fn bound_attribute<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<&'a ExprAttribute> {
    match facts.statement(call.at.stmt)?.node {
        Stmt::Assign(assign) if assign.value.range() == call.node.range() => match assign.targets.as_slice() {
            [Expr::Attribute(target)] if root_name(&target.value) == Some("self") => Some(target),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the weights leave the dict as they are read: `load_state_dict(checkpoint.pop("model"))`.
fn is_taken_out(load: &Use<'_>) -> bool {
    matches!(load.around.first(), Some(Expr::Attribute(method)) if method.attr.as_str() == "pop")
}

/// Whether the dict's tensors end up on the GPU: told so, or left where they were saved in a program that uses one.
fn goes_to_gpu<'a>(facts: &Facts<'a>, call: &Call<'a>) -> bool {
    match call.keyword("map_location").or_else(|| call.arg(1)) {
        Some(Expr::Lambda(lambda)) => facts.written(&*lambda.body).contains("cuda"),
        // `{"cuda:0": "cpu"}` says where to go, last.
        Some(Expr::Dict(places)) => places.items.iter().any(|place| facts.is_gpu(&place.value)),
        Some(Expr::FString(text)) => facts.written(text).contains("cuda"),
        Some(place) => string_of(place).is_none_or(|text| text.starts_with("cuda")) && facts.is_gpu(place),
        None => !call.has_star() && facts.calls().iter().any(|other| facts.moves_to_gpu(other)),
    }
}

/// Whether `map_location` is given.
fn says_gpu(call: &Call<'_>) -> bool {
    call.keyword("map_location").is_some() || call.args.len() > 1
}

/// Whether a read feeds `load_state_dict` of something that copies: an optimizer shares what is already in place.
fn goes_into_model(facts: &Facts<'_>, found: &Use<'_>) -> bool {
    found.calls().any(|call| loads_model(facts, call))
}

/// `model.load_state_dict(...)` that copies.
fn loads_model(facts: &Facts<'_>, call: &ExprCall) -> bool {
    match &*call.func {
        Expr::Attribute(method) => {
            let holder = facts.written(&*method.value).to_ascii_lowercase();
            let shares = is_no_network(&holder) || facts.is_of_plain_object(call);
            let assigns = facts.written(&call.arguments).contains("assign=");
            method.attr.as_str() == "load_state_dict" && !shares && !assigns
        }
        _ => false,
    }
}

/// Training after the load and not around it: in the same function or, for what a module holds, in any of its functions.
fn trains_after<'f, 'a>(facts: &'f Facts<'a>, call: &Call<'a>, into: Option<&'a ExprCall>) -> Option<&'f Call<'a>> {
    let model = into.and_then(|into| into.func.as_attribute_expr()).map(|method| &*method.value);
    let apart = |turns: &Loop<'_>| turns.kind != LoopKind::Parameters && !facts.is_inside(call.at.block, turns.block);
    let repeats = |step: &&Call<'a>| {
        let around = facts.loops(&step.at).any(|turns| !apart(&turns));
        let elsewhere = matches!(step.callee, Callee::Project(_));
        !around && (elsewhere || facts.loops(&step.at).any(|turns| apart(&turns)))
    };
    let beside = |step: &&Call<'a>| step.at.function == call.at.function;
    let after =
        |step: &&Call<'a>| step.at.order > call.at.order && repeats(step) && !is_out_of_reach(facts, call, step);
    // An attack goes back too; training steps.
    let trains = facts.effects(Effect::Step).next().is_some();
    let steps = |step: &&Call<'a>| match step.callee {
        Callee::Project(_) => !facts.is_without_optimizer(step),
        _ => facts.effects_of(Effect::Step, step.at.function).next().is_some(),
    };
    // Another model may be the one that trains, on what this one gives.
    let of_model = |step: &&Call<'a>| {
        model.is_none_or(|model| facts.may_train(step, model) && !facts.is_only_evaluated(model, call, step))
    };
    let here =
        || facts.effects(Effect::Backward).filter(|_| trains).filter(beside).filter(steps).filter(of_model).find(after);
    let in_trainer = || {
        facts.calls().iter().filter(beside).find(|other| {
            other.at.order > call.at.order && hands_over(facts, other) && !is_out_of_reach(facts, call, other)
        })
    };
    // A module that only defines how to train is trained by whoever imports it.
    let defined = || {
        let is_main = facts.blocks_around(&call.at).any(|(_, block)| matches!(block.kind, BlockKind::Main));
        let own = call.at.function.is_none() && facts.source.cells.is_empty() && !is_main;
        let called_here = facts.effects(Effect::Backward).any(|step| beside(&step));
        // An evaluation that has the training's functions with it, and calls none.
        let imported =
            facts.tables().files_above(facts.file_index()).into_iter().any(|file| file != facts.file_index());
        let is_called = |step: &&Call<'a>| {
            let name = facts.function_name(&step.at);
            imported
                || facts.class_at(&step.at).is_some()
                || facts.calls_named(name).any(|call| call.node.func.is_name_expr())
        };
        facts.effects(Effect::Backward).filter(|_| own && trains && !called_here).filter(is_called).find(repeats)
    };
    here().or_else(in_trainer).or_else(defined)
}

/// Whether no path leads from the first call to the second: they are in different branches, or the first one's ends
/// before.
fn is_out_of_reach(facts: &Facts<'_>, first: &Call<'_>, second: &Call<'_>) -> bool {
    let between = TextRange::new(first.end(), second.start().max(first.end()));
    let ends = facts.statements().iter().any(|statement| {
        let around = || facts.blocks_around(&first.at).any(|(block, _)| block == statement.block);
        between.contains_range(statement.node.range()) && leaves(facts, statement.node) && around()
    });
    ends || facts.is_other_branch(first, second)
        || ends_under_same_test(facts, first, between)
        || raises_between(facts, first, between)
}

/// Whether a later branch under the very test that the call stands under ends the function: `if mode == "extract"` loads
/// and, further down, another one returns.
fn ends_under_same_test(facts: &Facts<'_>, call: &Call<'_>, between: TextRange) -> bool {
    let tests = facts.blocks_around(&call.at).filter_map(|(_, block)| match block.kind {
        BlockKind::If(test) => test.map(|test| facts.written(test)),
        _ => None,
    });
    let tests: Vec<&str> = tests.collect();
    let ends = |test: Option<&Expr>, body: &[Stmt]| {
        let same = test.is_some_and(|test| tests.contains(&facts.written(test)));
        same && body.last().is_some_and(|last| leaves(facts, last))
    };
    facts.statements().iter().any(|statement| match statement.node {
        Stmt::If(node) if between.contains_range(node.range()) => {
            let mut others = node.elif_else_clauses.iter();
            let beside = facts.blocks_around(&call.at).any(|(block, _)| block == statement.block);
            let found =
                ends(Some(&node.test), &node.body) || others.any(|clause| ends(clause.test.as_ref(), &clause.body));
            beside && found
        }
        _ => false,
    })
}

/// Whether every run that loads raises on the way, by a name that is bound nowhere.
fn raises_between(facts: &Facts<'_>, call: &Call<'_>, between: TextRange) -> bool {
    let mut after = facts.statements().iter().filter(|statement| {
        let around = || facts.blocks_around(&call.at).any(|(block, _)| block == statement.block);
        between.contains_range(statement.node.range()) && around()
    });
    let unreached = facts.unreached();
    after.any(|statement| unreached.why(statement.node, Often::Never).is_some())
}

/// Whether a statement ends the function or the program.
fn leaves(facts: &Facts<'_>, stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Return(_) | Stmt::Raise(_) => true,
        Stmt::Expr(node) => {
            let text = facts.written(&*node.value);
            ["exit(", "quit(", "sys.exit(", "os._exit("].iter().any(|start| text.starts_with(start))
        }
        _ => false,
    }
}

/// Whether a call trains in a framework: `trainer.fit(model)`, `trainer.train()`.
fn hands_over(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let by_trainer = || call.receiver_expr().and_then(last_name).is_some_and(|name| name.ends_with("trainer"));
    matches!(call.name, "fit" | "train") && facts.full_name(call).is_none() && by_trainer()
}

/// The last statement that reads the name, when it is plain and stands beside the load.
fn last_statement<'a>(facts: &Facts<'a>, call: &Call<'a>, uses: &[Use<'a>]) -> Option<StmtId> {
    let load = facts.statement(call.at.stmt)?;
    let last = uses.last()?;
    let within = load.suite.iter().rev().find(|stmt| stmt.range().contains_range(last.name.range()))?;
    facts.statement_id(within)
}

fn delete_after(facts: &Facts<'_>, stmt: StmtId, name: &str) -> Vec<Edit> {
    facts.insert_after(stmt, &format!("del {name}"))
}
