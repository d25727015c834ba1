//! `generator-output-not-detached`: the discriminator's step goes back through the generator.

use crate::analysis::events::{At, Bind, Call, Callee, GradMode};
use crate::analysis::value::{FunctionId, Kind, Sources};
use crate::facts::{Effect, Facts};
use crate::python::{Expr, Ranged, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "generator-output-not-detached",
    group: Group::Graph,
    size: Size::per_batch(Amount::Activations),
    is_opportunity: false,
    fix: None,
    summary: "A loss that trains one network goes back through another network that made its input.",
    why: "The discriminator's loss on `G(z)` needs no gradient of `G`. Undetached, the backward pass walks through `G`, \
          needs all its saved activations, and fills gradients that are thrown away before `G` steps.",
    cost: "The saved activations of the generator, kept until the discriminator's backward pass is through, and that \
           pass at about twice the price.",
    instead: "`D(fake.detach())` for the discriminator's loss, or make `fake` under `torch.no_grad()`.",
    when_not: "Both networks step on this loss.",
    programs: include_str!("generator_output_not_detached.py"),
    check,
};

/// An optimizer: what it is called, and the module whose parameters it has.
struct Trained<'f> {
    optimizer: &'f str,
    parameters: &'f str,
}

fn check(facts: &Facts<'_>, report: &mut Report) {
    let mut optimizers = optimizers(facts);
    if optimizers.is_empty() {
        optimizers = optimizers_by_name(facts);
    }
    if optimizers.len() < 2 {
        return;
    }
    let penalties: Vec<Option<u32>> = facts.calls_to("torch.autograd.grad").map(|call| call.at.function).collect();
    for backward in facts.effects(Effect::Backward).filter(|call| matches!(call.name, "backward" | "manual_backward")) {
        // A gradient of the output itself is asked for: it needs a graph of some kind.
        if penalties.contains(&backward.at.function) {
            continue;
        }
        let Some(step) = next_step(facts, &backward.at) else { continue };
        let Some(loss) = backward.receiver.as_ref().filter(|value| value.is_tensor()).or_else(|| backward.args.first())
        else {
            continue;
        };
        let step = meant(facts, step, &backward.at);
        let stepped = optimizers.iter().filter(|found| found.optimizer == step);
        let found = stepped.into_iter().find_map(|stepped| {
            let mut here = facts.forward_passes(loss, &backward.at);
            let here = here.find_map(|pass| Some((pass, wasted(facts, &optimizers, stepped, pass, backward)?)));
            let (pass, other) = here.or_else(|| given_pass(facts, &optimizers, stepped, backward))?;
            Some((stepped, pass, other))
        });
        if let Some((stepped, pass, other)) = found {
            let module = callee_text(facts, pass).unwrap_or_default();
            report
                .add(
                    backward,
                    format!("This backward pass goes through `{module}`, though `{}` does not train it: it is walked, and its gradients made, for nothing", stepped.optimizer),
                )
                .because(&pass, format!("`{module}` runs here with its graph, undetached"))
                .because_if(step_range(facts, &backward.at), format!("the step that follows trains `{}` alone", stepped.parameters))
                .because_if(
                    cleared_before_step(facts, other, &backward.at).or_else(|| cleared_elsewhere(facts, other, &backward.at)),
                    "its gradients are cleared before its own next step",
                );
        }
    }
}

/// Optimizers of the file and the networks they train, by what they are bound to.
fn optimizers<'f>(facts: &'f Facts<'_>) -> Vec<Trained<'f>> {
    let mut found = Vec::new();
    for bind in facts.binds().iter().filter(|bind| bind.value.kind == Kind::Optimizer) {
        let call = bind.value_expr.and_then(|made| facts.call_at(made));
        let Some(given) = call.and_then(|call| call.arg(0).map(|given| (given, &call.at))) else { continue };
        let optimizer = facts.source.slice(bind.target.range());
        found.extend(
            facts.networks_in(given.0, given.1).into_iter().map(|parameters| Trained { optimizer, parameters }),
        );
    }
    found
}

/// Optimizers the file is given, paired with modules by what both names end in: `opt_g` and `netG`.
fn optimizers_by_name<'f>(facts: &'f Facts<'_>) -> Vec<Trained<'f>> {
    let mut found: Vec<Trained<'f>> = Vec::new();
    let modules = facts.calls().iter().filter(|call| call.callee == Callee::Module);
    let modules: Vec<&str> = modules.map(|call| facts.source.slice(call.node.func.range())).collect();
    for step in facts.effects(Effect::Step).filter(|call| call.name == "step") {
        let Some(optimizer) = facts.stepped(step) else { continue };
        let part = part_of_pair(optimizer);
        let rest = without_optimizer(optimizer);
        let same = |module: &&&str| {
            part.is_some() && part_of_pair(module) == part
                || rest.is_some_and(|rest| last_part(module).eq_ignore_ascii_case(rest))
        };
        let module = modules.iter().find(same);
        if let (Some(&parameters), false) = (module, found.iter().any(|known| known.optimizer == optimizer)) {
            found.push(Trained { optimizer, parameters });
        }
    }
    found
}

/// What is left of an optimizer's name: `disc` of `opt_disc`, `critic` of `critic_optimizer`.
fn without_optimizer(name: &str) -> Option<&str> {
    const WORDS: &[&str] = &["optimizer", "optim", "opt"];
    let last = last_part(name);
    let ends = WORDS.iter().find_map(|word| last.strip_suffix(word).map(|rest| rest.trim_end_matches('_')));
    let starts = || WORDS.iter().find_map(|word| last.strip_prefix(word).map(|rest| rest.trim_start_matches('_')));
    ends.or_else(starts).filter(|rest| !rest.is_empty())
}

/// Which of the two a name belongs to: `g` for `optimizerG`, `netG` and `generator`, `d` for `opt_disc`.
fn part_of_pair(name: &str) -> Option<char> {
    let last = name.rsplit('.').next().unwrap_or(name);
    let lower = last.to_ascii_lowercase();
    let whole = |word: &str| lower.split('_').any(|part| part == word);
    if lower.contains("gen") || whole("g") || last.ends_with('G') || lower == "gnet" {
        return Some('g');
    }
    let judges = lower.contains("disc") || lower.contains("critic") || whole("d") || last.ends_with('D');
    judges.then_some('d')
}

/// The optimizer of the first step after a backward pass.
fn next_step<'f>(facts: &'f Facts<'_>, at: &At) -> Option<&'f str> {
    let call = step_after(facts, at)?;
    let scaled = call.receiver.as_ref().is_some_and(|value| value.kind == Kind::Scaler);
    let optimizer = if scaled { call.arg(0) } else { call.receiver_expr() };
    Some(facts.source.slice(optimizer?.range()))
}

fn step_after<'f, 'a>(facts: &'f Facts<'a>, at: &At) -> Option<&'f Call<'a>> {
    let mut steps =
        facts.effects_of(Effect::Step, at.function).filter(|step| step.at.order > at.order && step.name == "step");
    steps.next()
}

fn step_range(facts: &Facts<'_>, at: &At) -> Option<TextRange> {
    step_after(facts, at).map(Ranged::range)
}

/// The optimizer of the module whose forward pass this is, when its gradients of this backward pass are lost.
fn wasted<'t, 'f>(
    facts: &Facts<'_>,
    optimizers: &'t [Trained<'f>],
    stepped: &Trained<'_>,
    pass: TextRange,
    backward: &Call<'_>,
) -> Option<&'t Trained<'f>> {
    // What the same step trains before it needs the gradient to come through.
    let mut same_step = optimizers.iter().filter(|found| found.optimizer == stepped.optimizer);
    if same_step.any(|own| comes_from(facts, pass, own.parameters)) {
        return None;
    }
    let feeds = feeds(facts, pass, stepped.parameters);
    trained_apart(facts, optimizers, stepped, pass, backward).filter(|_| feeds)
}

/// The pass of another network that every caller gives the function of a backward pass, whose trained module takes it as
/// it is: `self.train_critic(real, self.gen(z))`.
fn given_pass<'t, 'f>(
    facts: &Facts<'_>,
    optimizers: &'t [Trained<'f>],
    stepped: &Trained<'_>,
    backward: &Call<'_>,
) -> Option<(TextRange, &'t Trained<'f>)> {
    let function = facts.function(&backward.at)?;
    let names: Vec<&str> = function.node.parameters.iter().map(|found| found.name().as_str()).collect();
    let bound = usize::from(matches!(names.first(), Some(&"self")));
    let sources = facts.backward_sources(backward);
    let by_trained = |call: &&Call<'_>| {
        call.at.function == backward.at.function
            && call.callee == Callee::Module
            && last_part(facts.source.slice(call.node.func.range())) == last_part(stepped.parameters)
            && call.site.overlap(sources)
            && call.at.grad == GradMode::On
            && !is_told_to_detach(call)
    };
    let taken = facts.calls().iter().filter(by_trained).flat_map(|call| call.node.arguments.args.iter());
    let taken = taken.filter_map(Expr::as_name_expr).filter_map(|name| {
        let own = |bind: &Bind<'_>| bind.at.function == backward.at.function;
        let place = names.iter().position(|found| *found == name.id.as_str())?;
        (!facts.binds_of(name.id.as_str()).any(own)).then_some((place, name.id.as_str()))
    });
    taken.into_iter().find_map(|(place, name)| {
        let mut found = None;
        for caller in facts.callers_of(&backward.at) {
            let place = place.checked_sub(bound)?;
            let value = caller.keyword_value(name).or_else(|| caller.args.get(place))?;
            let passes: Vec<TextRange> = facts.forward_passes(value, &caller.at).collect();
            let [pass] = passes.as_slice() else { return None };
            found = Some((*pass, trained_apart(facts, optimizers, stepped, *pass, backward)?));
        }
        found
    })
}

/// The other optimizer that has the network of a pass, when its gradients are cleared before its own step.
fn trained_apart<'t, 'f>(
    facts: &Facts<'_>,
    optimizers: &'t [Trained<'f>],
    stepped: &Trained<'_>,
    pass: TextRange,
    backward: &Call<'_>,
) -> Option<&'t Trained<'f>> {
    let module = meant(facts, callee_text(facts, pass)?, &backward.at);
    let same = |found: &&Trained<'_>| last_part(found.parameters) == last_part(module);
    let both = optimizers.iter().filter(same).any(|found| found.optimizer == stepped.optimizer);
    let other = optimizers.iter().filter(same).find(|found| found.optimizer != stepped.optimizer)?;
    let cleared = cleared_before_step(facts, other, &backward.at).is_some()
        || cleared_elsewhere(facts, other, &backward.at).is_some();
    (cleared && !both).then_some(other)
}

/// What the callers of a function call what it has a parameter of this name for, where they agree.
fn meant<'f>(facts: &'f Facts<'_>, name: &'f str, at: &At) -> &'f str {
    let is_parameter = facts.function(at).is_some_and(|function| function.node.parameters.includes(name));
    let mut given =
        facts.callers_of(at).map(|caller| facts.argument_of(caller, name).map(|given| facts.written(given)));
    match given.next().filter(|_| is_parameter).flatten() {
        Some(first) if given.all(|other| other == Some(first)) => first,
        _ => name,
    }
}

/// `self.gen = gen.to(device)` and `Adam(gen.parameters())` are about one module.
fn last_part(text: &str) -> &str {
    text.rsplit('.').next().unwrap_or(text)
}

/// Where the functions that step an optimizer clear its gradients before they go back, when the function of this
/// backward pass does not step it: each network has a method of its own.
fn cleared_elsewhere(facts: &Facts<'_>, optimizer: &Trained<'_>, at: &At) -> Option<TextRange> {
    let own =
        |call: &Call<'_>| facts.stepped(call).is_some_and(|step| meant(facts, step, &call.at) == optimizer.optimizer);
    let is_given = |call: &Call<'_>| {
        let parameters = facts.function(&call.at).map(|function| &function.node.parameters);
        parameters.zip(facts.stepped(call)).is_some_and(|(all, step)| all.includes(step))
    };
    let steps: Vec<&Call<'_>> = facts.effects(Effect::Step).filter(|call| call.name == "step" && own(call)).collect();
    let mut cleared = None;
    for step in &steps {
        let clear = facts.effects_of(Effect::ZeroGrad, step.at.function).find(|clear| {
            let on = clear.receiver_expr().map(|expr| facts.source.slice(expr.range()));
            let of_it = on
                .map(|on| meant(facts, on, &clear.at))
                .is_some_and(|on| on == optimizer.optimizer || last_part(on) == last_part(optimizer.parameters));
            let mut backwards = facts.effects_of(Effect::Backward, step.at.function);
            of_it
                && facts.is_always_before(&clear.at, &step.at)
                && backwards.any(|pass| pass.at.order > clear.at.order && pass.at.order < step.at.order)
        })?;
        cleared = Some(clear.range());
    }
    // One of the file's own, which its functions share.
    let of_file = || {
        let mut binds = facts.binds_of(optimizer.optimizer).peekable();
        binds.peek().is_some() && binds.all(|bind| bind.at.function.is_none())
    };
    let of_object = optimizer.optimizer.starts_with("self.") || of_file();
    let apart = steps.iter().all(|step| step.at.function != at.function && (of_object || is_given(step)));
    cleared.filter(|_| apart)
}

/// Whether a forward pass is given something that a network has made.
fn comes_from(facts: &Facts<'_>, pass: TextRange, network: &str) -> bool {
    let Some(made) = facts.calls().iter().find(|call| call.range() == pass) else { return false };
    let inputs = made.values().fold(Sources::default(), |all, value| all.with(value.sources));
    facts.calls().iter().any(|call| {
        let is_it = last_part(meant(facts, facts.written(&*call.node.func), &call.at)) == last_part(network);
        call.callee == Callee::Module
            && call.at.function == made.at.function
            && is_it
            && call.site.overlap(inputs.sites())
    })
}

/// Whether a forward pass is an input of the trained module, and not made of its output: a generator's loss goes through
/// the discriminator because it must.
fn feeds(facts: &Facts<'_>, pass: TextRange, trained: &str) -> bool {
    let Some(made) = facts.calls().iter().find(|call| call.range() == pass) else { return false };
    // Passes beyond those that are told apart share a source.
    if made.site.overlap(Sources::site(usize::MAX)) {
        return false;
    }
    let inputs = |call: &Call<'_>| call.values().fold(Sources::default(), |all, value| all.with(value.sources));
    let is_it = |call: &Call<'_>| {
        let called = meant(facts, facts.source.slice(call.node.func.range()), &call.at);
        call.callee == Callee::Module && last_part(called) == last_part(trained)
    };
    // `self.judge(real, fake)`: a method of its own runs it. A penalty takes gradients of what it is given, or of a copy.
    let cuts = |id: FunctionId| {
        let text = facts.source.slice(facts.function_def(id).node.range());
        ["detach", ".data", "grad("].iter().any(|word| text.contains(word))
    };
    let by_helper = |call: &Call<'_>| match call.callee {
        Callee::Project(id) if facts.is_own(id) => {
            // By its own name, or by that of a parameter it is given for.
            let is_given = |inner: &Call<'_>| {
                let called = inner.node.func.as_name_expr().filter(|_| inner.callee == Callee::Module);
                let given = called.and_then(|called| facts.argument_of(call, called.id.as_str()));
                given.is_some_and(|given| last_part(facts.written(given)) == last_part(trained))
            };
            let mut inner = facts.calls().iter().filter(|inner| inner.at.function == Some(id.index));
            inner.any(|inner| (is_it(inner) || is_given(inner)) && inner.at.grad == GradMode::On) && !cuts(id)
        }
        _ => false,
    };
    let of_trained = |call: &&Call<'_>| call.at.function == made.at.function && (is_it(call) || by_helper(call));
    let calls: Vec<&Call<'_>> = facts.calls().iter().filter(of_trained).collect();
    let takers: Vec<_> = calls.iter().filter(|call| inputs(call).overlap(made.site)).collect();
    if takers.iter().any(|call| is_told_to_detach(call)) {
        return false;
    }
    let mut takers = takers.into_iter().peekable();
    // One pass of the critic for both losses: the other loss needs the graph as it is.
    let shared = |call: &&&Call<'_>| {
        let uses = |other: &&Call<'_>| facts.backward_sources(other).overlap(call.site);
        facts.effects_of(Effect::Backward, made.at.function).filter(uses).count() > 1
    };
    takers.peek().is_some()
        && !takers.any(|call| shared(&call))
        && !calls.iter().any(|call| call.site.overlap(inputs(made)))
}

/// `critic(fake, detach=True)`: the critic cuts the graph itself.
fn is_told_to_detach(call: &Call<'_>) -> bool {
    let mut keywords = call.node.arguments.keywords.iter();
    keywords.any(|keyword| {
        let says = keyword.arg.as_ref().is_some_and(|name| name.contains("detach") || name.contains("no_grad"));
        says && !matches!(&keyword.value, Expr::BooleanLiteral(literal) if !literal.value)
    })
}

/// Where an optimizer's gradients are cleared after a backward pass and before its next step, on this turn or the next.
fn cleared_before_step(facts: &Facts<'_>, optimizer: &Trained<'_>, at: &At) -> Option<TextRange> {
    let text = |call: &Call<'_>| call.receiver_expr().map(|expr| facts.source.slice(expr.range()));
    let of_it = |call: &&Call<'_>| matches!(text(call), Some(found) if found == optimizer.optimizer || found == optimizer.parameters);
    let clears: Vec<&Call<'_>> = facts.effects_of(Effect::ZeroGrad, at.function).filter(of_it).collect();
    let steps = facts.effects_of(Effect::Step, at.function);
    let given = |step: &Call<'_>| step.arg(0).is_some_and(|arg| facts.source.slice(arg.range()) == optimizer.optimizer);
    let steps: Vec<&Call<'_>> = steps.filter(|step| of_it(step) || given(step)).collect();
    if let Some(next) = steps.iter().find(|step| step.at.order > at.order) {
        let mut after = clears.iter().filter(|clear| clear.at.order > at.order && clear.at.order < next.at.order);
        return after.next().map(|clear| Ranged::range(*clear));
    }
    // Its own step came first on this turn: the next turn clears before it steps again.
    let turns = facts.loops(at).next()?;
    let inside = |call: &&&Call<'_>| facts.is_inside(call.at.block, turns.block);
    let first = steps.iter().find(inside)?;
    let clear = clears.iter().filter(inside).find(|clear| clear.at.order < first.at.order)?;
    facts.is_unconditional_in(&clear.at, turns.block).then(|| clear.range())
}

/// What a forward pass calls: `netG` of `netG(z)`.
fn callee_text<'f>(facts: &'f Facts<'_>, pass: TextRange) -> Option<&'f str> {
    let call = facts.calls().iter().find(|call| call.range() == pass && call.callee == Callee::Module)?;
    matches!(&*call.node.func, Expr::Name(_) | Expr::Attribute(_)).then(|| facts.source.slice(call.node.func.range()))
}
