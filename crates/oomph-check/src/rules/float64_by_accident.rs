//! `float64-by-accident`: numpy's default type doubles everything.

use crate::analysis::events::{At, Bind, Call};
use crate::facts::Facts;
use crate::finding::{Edit, Level, Safety};
use crate::python::{Expr, Ranged, Stmt};
use crate::report::Report;
use crate::rule::{Example, Group, Rule};
use crate::uses::{Use, last_name, uses_in, whole_number};

pub(super) static RULE: Rule = Rule {
    name: "float64-by-accident",
    group: Group::Operations,
    level: Level::Warning,
    fix: Some(Safety::Unsafe),
    summary: "An array of numpy's 64-bit floats goes to the GPU as it is.",
    why: "numpy makes 64-bit floats unless told otherwise, and `torch.from_numpy` and `torch.tensor` keep that. Every \
          result computed with such a tensor is 64-bit too.",
    cost: "Twice the memory for the tensor and all that is derived from it, and a fraction of the speed.",
    instead: "`torch.rand(..., device=\"cuda\")`, or `.float()` before the tensor is moved.",
    when_not: "The computation needs double precision.",
    examples: &[
        Example {
            bad: "\
import numpy as np
import torch

def weights():
    even = np.ones(1000) / 1000
    return torch.tensor(even).cuda()
",
            good: "\
import numpy as np
import torch

def weights():
    even = np.ones(1000, dtype=np.float32) / 1000
    return torch.tensor(even).cuda()
",
        },
        Example {
            bad: "\
import numpy as np
import torch

noise = torch.from_numpy(np.random.randn(64, 3, 224, 224)).cuda()
",
            good: "\
import torch

noise = torch.randn(64, 3, 224, 224, device='cuda')
",
        },
        Example {
            bad: "\
import numpy as np
import torch

device = torch.device('cuda')
grid = torch.tensor(np.linspace(0, 1, 1_000_000)).to(device)
",
            good: "\
import numpy as np
import torch

device = torch.device('cuda')
grid = torch.tensor(np.linspace(0, 1, 1_000_000), dtype=torch.float32).to(device)
",
        },
        Example {
            bad: "\
import numpy as np
import torch

rng = np.random.default_rng(0)

def noise(n):
    drawn = torch.from_numpy(rng.standard_normal((n, 3)))
    return drawn.cuda()
",
            good: "\
import numpy as np
import torch

rng = np.random.default_rng(0)

def noise(n):
    drawn = torch.from_numpy(rng.standard_normal((n, 3), dtype=np.float32))
    return drawn.cuda()
",
        },
    ],
    silent_on: &[
        "\
import numpy as np
import torch

def noise(n):
    drawn = torch.from_numpy(np.random.randn(n, 3))
    drawn = drawn.float()
    return drawn.cuda()
",
        "\
import numpy as np
import torch

def shift(n):
    affine = torch.zeros(n, 2, 3).cuda()
    affine[:, 0, 2] = torch.from_numpy(np.random.uniform(-1, 1, size=(n,))).cuda()
    return affine
",
        "\
import numpy as np
import torch

def weights(counts):
    w = np.ones(1000)
    w = w.astype(np.float32)
    return torch.tensor(w).cuda()
",
        "\
import numpy as np
import torch

x = torch.from_numpy(np.random.randn(8, 3).astype(np.float32)).cuda()
y = torch.from_numpy(np.zeros((8, 3), dtype=np.float32)).cuda()
z = torch.tensor(np.zeros((8, 3)), dtype=torch.float32).cuda()
w = torch.from_numpy(np.random.randn(8, 3)).float().cuda()
v = torch.from_numpy(np.random.randint(0, 9, (8, 3))).cuda()
",
        "\
import numpy as np
import torch

torch.set_default_dtype(torch.float64)
x = torch.from_numpy(np.random.randn(8, 3)).cuda()
",
        "\
import numpy as np
import torch

x = torch.from_numpy(np.random.randn(8, 3)).cuda().float()
",
    ],
    check,
};

const WIDE: &[&str] = &[
    "numpy.random.rand",
    "numpy.random.randn",
    "numpy.random.random",
    "numpy.random.normal",
    "numpy.random.uniform",
    "numpy.random.random_sample",
    "numpy.random.standard_normal",
    "numpy.zeros",
    "numpy.ones",
    "numpy.empty",
    "numpy.linspace",
    "numpy.eye",
    "numpy.loadtxt",
    "numpy.genfromtxt",
    "numpy.fromfile",
];

fn check(facts: &Facts<'_>, report: &mut Report) {
    let text = &facts.source.text;
    let wants_double = text.contains("set_default_dtype") || text.contains(".double()") || text.contains("float64");
    if wants_double || facts.is_test_file() {
        return;
    }
    for call in ["torch.from_numpy", "torch.tensor", "torch.as_tensor"].iter().flat_map(|name| facts.calls_to(name)) {
        let Some(array) = call.arg(0) else { continue };
        let Some(wide) = wide_array(facts, &call.at, array) else { continue };
        if call.keyword("dtype").is_some() || call.args.len() > 1 {
            continue;
        }
        let Some(moved) = goes_to_gpu(facts, call).filter(|_| !is_put_into(facts, call)) else { continue };
        if is_only_copied(facts, call) || is_narrowed_by_callers(facts, call) {
            continue;
        }
        report
            .add(call, "This tensor has 64-bit floats, numpy's default, and so has all that is computed with it")
            .level(if is_few(facts, wide) && !spreads(facts, call) { Level::Info } else { Level::Warning })
            .because(wide, "numpy makes 64-bit floats")
            .because(&moved, "it goes to the GPU as it is")
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
    let narrow = |outer: &&Expr| {
        let method = outer.as_attribute_expr().map(|node| node.attr.as_str());
        matches!(method, Some("float" | "half" | "bfloat16" | "long" | "int" | "type" | "byte" | "bool"))
            || facts.call_at(outer).is_some_and(|moved| moved.name == "to" && facts.written(*outer).contains("float"))
    };
    returned && facts.callers_of(&call.at).any(|caller| facts.around(caller).iter().any(narrow))
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
fn is_few(facts: &Facts<'_>, wide: &Expr) -> bool {
    const FEW: u64 = 512;
    let Some(call) = facts.call_at(wide) else { return false };
    let sizes: Vec<&Expr> = match (call.name, call.arg(0)) {
        ("array" | "asarray", _) => return true,
        ("linspace", _) => call.keyword("num").or_else(|| call.arg(2)).into_iter().collect(),
        (_, Some(Expr::Tuple(shape))) => shape.elts.iter().collect(),
        _ => call.node.arguments.args.iter().collect(),
    };
    let sizes: Option<Vec<u64>> = sizes.into_iter().map(whole_number).collect();
    sizes.is_some_and(|sizes| {
        !sizes.is_empty() && sizes.iter().fold(1, |all: u64, size| all.saturating_mul(*size)) <= FEW
    })
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

/// The call of numpy that makes the array, when no type is named.
fn wide_array<'a>(facts: &Facts<'a>, at: &At, array: &'a Expr) -> Option<&'a Expr> {
    wide_within(facts, at, array, 3)
}

fn wide_within<'a>(facts: &Facts<'a>, at: &At, array: &'a Expr, hops: u32) -> Option<&'a Expr> {
    let hops = hops.checked_sub(1)?;
    match array {
        // Numbers leave the type as it is; another array may change it, but never to something narrower.
        Expr::BinOp(node) => {
            wide_within(facts, at, &node.left, hops).or_else(|| wide_within(facts, at, &node.right, hops))
        }
        Expr::Name(name) => {
            let own = |bind: &&Bind<'_>| bind.at.function == at.function;
            let mut binds = facts.binds_of(name.id.as_str()).filter(own);
            let (Some(only), None) = (binds.next(), binds.next()) else { return None };
            let before = only.at.order < at.order && only.target.is_name_expr();
            wide_within(facts, at, only.value_expr.filter(|_| before)?, hops)
        }
        Expr::Call(_) => {
            let call = facts.call_at(array)?;
            let name = facts.full_name(call).unwrap_or_default();
            let drawn = || {
                let by_generator = call.receiver.as_ref().and_then(|value| facts.name_of(value));
                let floats = matches!(call.name, "random" | "normal" | "uniform" | "standard_normal");
                by_generator == Some("numpy.random.default_rng") && floats
            };
            let listed = || matches!(name, "numpy.array" | "numpy.asarray") && call.arg(0).is_some_and(holds_floats);
            let untyped = call.keyword("dtype").is_none() && !facts.written(array).contains("int");
            // A medical image as floats: the library scales it to 64 bits.
            let image = || call.name == "get_fdata" && call.node.arguments.is_empty();
            ((WIDE.contains(&name) || drawn() || listed() || image())
                && untyped
                && !facts.written(array).contains("float32"))
            .then_some(array)
        }
        _ => None,
    }
}

/// Where the tensor is moved to a GPU, when nothing narrows it on the way or after.
fn goes_to_gpu<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<crate::python::TextRange> {
    let around = facts.around(call);
    let narrow = |expr: &Expr| {
        let text = facts.written(expr);
        ["float", "half", "dtype", "type(", "long(", "int("].iter().any(|word| text.contains(word))
    };
    let own = facts.makes_on_gpu(call).then_some(call);
    let outside = || around.iter().filter_map(|outer| facts.call_at(outer)).find(|outer| facts.moves_to_gpu(outer));
    let moved = own.or_else(outside).or_else(|| moved_later(facts, call))?;
    // What is only compared gives truth values, one byte each.
    let compared = around.iter().any(|outer| outer.is_compare_expr());
    if compared || around.iter().any(|outer| narrow(outer)) || own.is_none() && moved.args.len() > 1 {
        return None;
    }
    let name = facts.bound_name(moved).or_else(|| facts.bound_name(call));
    let narrowed_later = name.is_some_and(|name| {
        let uses = uses_in(facts.body_around(&call.at), name);
        let is_compared = |found: &Use<'_>| found.around.iter().any(|outer| outer.is_compare_expr());
        if !uses.is_empty() && uses.iter().all(is_compared) {
            return true;
        }
        uses.iter().any(|found| found.around.get(1).is_some_and(|outer| narrow(outer)))
    });
    (!narrowed_later).then(|| moved.range())
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

/// Whether a list is written out with a float in it.
fn holds_floats(expr: &Expr) -> bool {
    match expr {
        Expr::List(node) => node.elts.iter().any(holds_floats),
        Expr::Tuple(node) => node.elts.iter().any(holds_floats),
        Expr::NumberLiteral(node) => node.value.is_float(),
        _ => false,
    }
}
