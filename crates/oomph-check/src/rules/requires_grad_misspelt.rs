//! `requires-grad-misspelt`: parameters meant to be frozen go on training.

use crate::analysis::events::{At, Bare, Bind, BlockKind, Call, LoopKind};
use crate::analysis::value::{Flags, Graph, Kind, Value};
use crate::facts::Facts;
use crate::finding::{Edit, Safety};
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_body, walk_expr};
use crate::python::ast::{CmpOp, ExprAttribute};
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::string_of;

pub(super) static RULE: Rule = Rule {
    name: "requires-grad-misspelt",
    group: Group::GradMode,
    size: Size::per_batch(Amount::Activations).wasted(),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "Parameters are meant to be frozen, but the line that does it has no effect.",
    why: "Python lets code set any attribute: `p.require_grad = False` makes a new one that torch never reads. So does \
          `layer.requires_grad = False` on a module, which has no such attribute, and `p.requires_grad == False` only \
          compares. The parameters still get gradients and optimizer state.",
    cost: "Gradients (one copy) and optimizer state (two copies with Adam) of every parameter meant to be frozen, and \
           the activations kept to compute them.",
    instead: "`p.requires_grad = False` on each parameter, or `module.requires_grad_(False)`.",
    when_not: "The object is not torch's and really has an attribute of that name.",
    programs: include_str!("requires_grad_misspelt.py"),
    check,
};

/// What else people write when they mean `requires_grad`.
const MISSPELT: &[&str] =
    &["requires_gradient", "require_gradient", "requires_gradients", "needs_grad_", "grad_required"];

/// Whether a name is a slip of the pen for `requires_grad`.
fn is_misspelt(name: &str) -> bool {
    const MEANT: &str = "requires_grad";
    let near = name.len().abs_diff(MEANT.len()) <= 2 && strsim::osa_distance(name, MEANT) <= 2;
    // `_requires_grad` is a flag of somebody's own.
    name != MEANT && !name.starts_with('_') && (near || MISSPELT.contains(&name))
}

fn check(facts: &Facts<'_>, report: &mut Report) {
    for bind in facts.binds() {
        if let Expr::Attribute(target) = bind.target
            && is_misspelt(bind.name)
        {
            misspelt_attribute(facts, report, bind.name, bind, target);
        }
    }
    for call in facts.calls_named("setattr") {
        misspelt_setattr(facts, report, call);
    }
    for bind in facts.binds_of("requires_grad") {
        if let Expr::Attribute(target) = bind.target {
            set_on_module(facts, report, bind, target);
        }
    }
    for bare in facts.bares() {
        compared(facts, report, bare);
    }
}

fn misspelt_attribute(facts: &Facts<'_>, report: &mut Report, misspelt: &str, bind: &Bind<'_>, target: &ExprAttribute) {
    let text = facts.source.slice(target.range());
    let is_read = facts.attribute_reads(misspelt) > 0;
    let on_self = matches!(&*target.value, Expr::Name(name) if name.id.as_str() == "self");
    let literal = matches!(bind.value_expr, Some(Expr::BooleanLiteral(_)));
    let of_parameter = bind.owner.as_ref().is_some_and(|owner| owner.has(Flags::LEAF));
    // A parameter gets gradients anyway.
    let asks_for_more = of_parameter && matches!(bind.value_expr, Some(Expr::BooleanLiteral(literal)) if literal.value);
    let trains = || may_train(facts, &bind.at, &target.value) && !is_frozen_as_well(facts, &bind.at, &target.value);
    if is_read
        || on_self
        || asks_for_more
        || !(literal || of_parameter)
        || is_put_back(facts, bind, target)
        || !trains()
    {
        return;
    }
    // Data needs no gradients anyway: a slip of the pen, but nothing is lost.
    let harmless = bind
        .owner
        .as_ref()
        .is_some_and(|owner| owner.is_tensor() && owner.graph == Graph::No && !owner.has(Flags::LEAF));
    let thaws = matches!(bind.value_expr, Some(Expr::BooleanLiteral(literal)) if literal.value);
    let harmless = harmless || thaws;
    let cost = match (thaws, harmless) {
        (true, _) => "nothing is trained for it",
        (_, true) => "it needs no gradients, but not for that",
        _ => "nothing is frozen by it",
    };
    let does = if misspelt == "requires_grad_" {
        "only hides a method"
    } else {
        "makes a new attribute that torch never reads"
    };
    let finding = report.add(target, format!("`{text} = ...` {does}: {cost}"));
    finding.doubtful_if(harmless);
    if bind.owner.as_ref().is_some_and(|owner| owner.is_tensor() || owner.has(Flags::LEAF)) {
        finding
            .because(&target.attr, "the attribute is called `requires_grad`")
            .unsafe_fix("Spell it `requires_grad`", vec![Edit::replace(target.attr.range(), "requires_grad")]);
        return;
    }
    // It may be a module, where `requires_grad` would be as idle.
    finding.because(&target.attr, "`requires_grad_(False)` is what freezes a parameter, or all of a module");
    if let Some(value) = bind.value_expr {
        let whole = TextRange::new(target.attr.start(), value.end());
        let call = format!("requires_grad_({})", facts.written(value));
        finding.unsafe_fix("Call `requires_grad_`", vec![Edit::replace(whole, call)]);
    }
}

/// Whether the same block sets the same thing again to the opposite: it was meant for the lines between, such as a clamp
/// of the weights.
fn is_put_back(facts: &Facts<'_>, bind: &Bind<'_>, target: &ExprAttribute) -> bool {
    let text = facts.written(target);
    facts.binds_of(bind.name).any(|other| {
        let opposite = match (bind.value_expr, other.value_expr) {
            (Some(Expr::BooleanLiteral(first)), Some(Expr::BooleanLiteral(second))) => first.value != second.value,
            _ => false,
        };
        opposite && other.at.block == bind.at.block && facts.written(other.target) == text
    })
}

/// `setattr(p, "require_grad", False)`: the same slip in a string.
fn misspelt_setattr(facts: &Facts<'_>, report: &mut Report, call: &Call<'_>) {
    let [_, name, Expr::BooleanLiteral(_)] = &*call.node.arguments.args else { return };
    let Some(text) = string_of(name).filter(|text| is_misspelt(text)) else { return };
    if facts.attribute_reads(text) > 0 {
        return;
    }
    report
        .add(call, format!("`{text}` is a new attribute that torch never reads: nothing is frozen by it"))
        .because(name, "the attribute is called `requires_grad`")
        .unsafe_fix("Spell it `requires_grad`", vec![Edit::replace(name.range(), "\"requires_grad\"")]);
}

fn set_on_module(facts: &Facts<'_>, report: &mut Report, bind: &Bind<'_>, target: &ExprAttribute) {
    let Some(Expr::BooleanLiteral(literal)) = bind.value_expr else { return };
    let Some(module) = bind.owner.as_ref().filter(|value| is_surely_module(facts, value)) else { return };
    if literal.value || may_be_parameter(facts, bind, target, module) {
        return;
    }
    let owner = facts.source.slice(target.value.range());
    let simple = facts.statement(bind.at.stmt).is_some_and(|statement| {
        matches!(statement.node, Stmt::Assign(assign) if assign.targets.len() == 1 && assign.targets[0].range() == target.range())
    });
    if !simple || !may_train(facts, &bind.at, &target.value) || is_frozen_as_well(facts, &bind.at, &target.value) {
        return;
    }
    let whole = TextRange::new(target.start(), literal.range().end());
    let frozen_around = owner == "self" && holds_nothing(facts, bind);
    report
        .add(
            &whole,
            format!("`{owner}` is a module, and modules have no `requires_grad`: its parameters are not frozen"),
        )
        .doubtful_if(frozen_around)
        .because_if((!module.made_at.is_empty()).then_some(module.made_at), "the module is made here")
        .because(&target.attr, "this sets a plain attribute that nothing reads")
        .unsafe_fix(
            "Call `requires_grad_(False)`",
            vec![Edit::replace(whole, format!("{owner}.requires_grad_(False)"))],
        );
}

/// Whether the class around gives its objects nothing that could be a parameter.
fn holds_nothing(facts: &Facts<'_>, bind: &Bind<'_>) -> bool {
    let class = facts.class_around(&bind.at);
    let derived = class.is_some_and(|class| facts.tables().ancestry(class).len() > 1);
    let plain = |value: &Expr| value.is_literal_expr() || value.is_name_expr() || value.is_tuple_expr();
    let own = facts.binds().iter().filter(|other| other.target.is_attribute_expr());
    let mut own = own.filter(|other| facts.class_around(&other.at) == class);
    let registers = facts.calls().iter().any(|call| {
        facts.class_around(&call.at) == class && matches!(call.name, "add_module" | "register_parameter" | "setattr")
    });
    class.is_some() && !derived && !registers && own.all(|other| other.value_expr.is_some_and(plain))
}

/// Whether it may be a parameter out of an `nn.ParameterDict` or `nn.ParameterList`: an item of something, with nothing
/// to say what the items are.
fn may_be_parameter(facts: &Facts<'_>, bind: &Bind<'_>, target: &ExprAttribute, value: &Value) -> bool {
    if value.class.is_some() || value.maker.is_some() {
        return false;
    }
    match &*target.value {
        Expr::Subscript(_) => true,
        Expr::Name(name) => facts.loops(&bind.at).any(|turns| match turns.node {
            BlockKind::Loop(_, Stmt::For(walk)) => {
                let bound = facts.mentions_word(walk.target.range(), name.id.as_str());
                bound && !["modules()", "children()"].iter().any(|way| facts.written(&*walk.iter).contains(way))
            }
            _ => false,
        }),
        _ => false,
    }
}

/// Whether gradients may be computed for what is meant to be frozen: it is run, and no pass through it in view is under
/// `no_grad`. What is not in view counts as run.
fn may_train(facts: &Facts<'_>, at: &At, owner: &Expr) -> bool {
    let Some(module) = module_meant(facts, at, owner) else { return true };
    let text = facts.written(module);
    let class = facts.class_around(at).filter(|_| text.starts_with("self."));
    let passes = |call: &&Call<'_>| {
        let same = facts.written(&*call.node.func) == text && facts.class_around(&call.at) == facts.class_around(at);
        same && (class.is_some() || call.at.function == at.function)
    };
    // What the body of a file makes its functions use.
    let in_view = |call: &&Call<'_>| at.function.is_none() || call.at.function == at.function || class.is_some();
    let calls = || facts.calls().iter().filter(in_view);
    if calls().filter(passes).any(|call| call.at.grad.is_off()) || runs_only_unrecorded(facts, calls(), text) {
        return false;
    }
    if class.is_some() && is_only_read_unrecorded(facts, at, text) {
        return false;
    }
    // An attribute that no method but the one that makes it reads is never run.
    let name = text.strip_prefix("self.").and_then(|rest| rest.split(['.', '[', '(']).next());
    let (Some(class), Some(name)) = (class, name) else { return true };
    let has_forward = facts.outline().classes[class.index as usize].methods.contains_key("forward");
    let mut methods = facts.outline().functions.iter().enumerate();
    let read = methods.any(|(index, function)| {
        let own = function.class == Some(class.index) && function.node.name.as_str() != "__init__";
        own && at.function != Some(index as u32) && reads_attribute(&function.node.body, name)
    });
    !has_forward || read
}

/// Whether the other methods only hand it, or its weights, to calls under `no_grad`: `F.conv2d(x, self.sobel.weight)`.
fn is_only_read_unrecorded(facts: &Facts<'_>, at: &At, module: &str) -> bool {
    let class = facts.class_around(at);
    let takes = |call: &&Call<'_>| {
        let outside = call.at.function != at.function && facts.class_around(&call.at) == class;
        let names_it = |arg: &Expr| {
            let rest = facts.written(arg).strip_prefix(module);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        outside && (call.node.arguments.args.iter().any(names_it) || names_it(&call.node.func))
    };
    let mut calls = facts.calls().iter().filter(takes).peekable();
    calls.peek().is_some() && calls.all(|call| call.at.grad.is_off())
}

/// Whether all that a module is used for is done by methods of it under `no_grad`: `model.generate(x)`.
fn runs_only_unrecorded<'f, 'a: 'f>(
    facts: &Facts<'a>,
    calls: impl Iterator<Item = &'f Call<'a>>,
    module: &str,
) -> bool {
    const IDLE: &[&str] = &[
        "parameters",
        "named_parameters",
        "modules",
        "named_modules",
        "children",
        "load_state_dict",
        "state_dict",
        "to",
        "cuda",
        "cpu",
        "eval",
        "train",
        "float",
        "half",
    ];
    let on_it = |call: &&Call<'_>| {
        let rest = facts.written(&*call.node.func).strip_prefix(module);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) && !IDLE.contains(&call.name)
    };
    let mut runs = calls.filter(on_it).peekable();
    runs.peek().is_some() && runs.all(|call| call.at.grad.is_off())
}

/// Whether the same function freezes the same parameters in the right way too: `for p in m.parameters(): p.requires_grad
/// = False` beside `m.requires_grad = False`.
fn is_frozen_as_well(facts: &Facts<'_>, at: &At, owner: &Expr) -> bool {
    let Some(module) = module_meant(facts, at, owner).map(|expr| facts.written(expr)) else { return false };
    let off = |value: Option<&Expr>| matches!(value, Some(Expr::BooleanLiteral(literal)) if !literal.value);
    let by_loop = facts.binds_of("requires_grad").any(|bind| {
        let Expr::Attribute(target) = bind.target else { return false };
        let walks = facts.loops(&bind.at).any(|turns| turns.kind == LoopKind::Parameters);
        let same = || module_meant(facts, &bind.at, &target.value).is_some_and(|expr| facts.written(expr) == module);
        bind.at.function == at.function && off(bind.value_expr) && walks && same()
    });
    let by_call = facts.calls_named("requires_grad_").any(|call| {
        let on = call.receiver_expr();
        let walked = |expr| module_meant(facts, &call.at, expr).is_some_and(|expr| facts.written(expr) == module);
        call.at.function == at.function && off(call.arg(0)) && on.is_some_and(walked)
    });
    by_loop || by_call
}

/// Whether statements read an attribute of this name.
fn reads_attribute(body: &[Stmt], name: &str) -> bool {
    struct Reads<'n>(&'n str, bool);
    impl<'a> SourceOrderVisitor<'a> for Reads<'_> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            self.1 |= matches!(expr, Expr::Attribute(node) if node.attr.as_str() == self.0 && node.ctx.is_load());
            walk_expr(self, expr);
        }
    }
    let mut reads = Reads(name, false);
    walk_body(&mut reads, body);
    reads.1
}

/// The module whose parameters are meant: `m` of `m.requires_grad`, of `for p in m.parameters(): p.requires_grad`.
fn module_meant<'a>(facts: &Facts<'a>, at: &At, owner: &'a Expr) -> Option<&'a Expr> {
    match owner {
        Expr::Attribute(_) => Some(owner),
        Expr::Name(name) => {
            let walked = facts.loops(at).find_map(|turns| match turns.node {
                BlockKind::Loop(_, Stmt::For(walk)) if facts.mentions_word(walk.target.range(), name.id.as_str()) => {
                    Some(&*walk.iter)
                }
                _ => None,
            });
            match walked {
                Some(Expr::Call(call)) => match &*call.func {
                    Expr::Attribute(method) => Some(&*method.value),
                    _ => None,
                },
                Some(_) => None,
                None if name.id.as_str() == "self" => None,
                None => Some(owner),
            }
        }
        _ => None,
    }
}

/// Whether a value is a module by more than its name, and no class of the project gives it the attribute a meaning.
fn is_surely_module(facts: &Facts<'_>, value: &Value) -> bool {
    let known = value.kind == Kind::Module && !value.has(Flags::GUESSED);
    known && value.class.is_none_or(|class| facts.tables().method(class, "requires_grad").is_none())
}

fn compared(facts: &Facts<'_>, report: &mut Report, bare: &Bare<'_>) {
    let Expr::Compare(compare) = bare.expr else { return };
    let (Expr::Attribute(left), [CmpOp::Eq], [Expr::BooleanLiteral(right)]) =
        (&*compare.left, &*compare.ops, &*compare.comparators)
    else {
        return;
    };
    if left.attr.as_str() != "requires_grad" {
        return;
    }
    let text = facts.source.slice(compare.range());
    let between = TextRange::new(left.end(), right.start());
    report
        .add(bare.expr, format!("`{text}` only compares: `requires_grad` stays as it was"))
        .because(&between, "`==` compares, `=` sets")
        .unsafe_fix("Set it", vec![Edit::replace(between, " = ")]);
}
