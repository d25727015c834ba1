//! Arrays of numpy: which of them hold 64-bit floats, followed through names, arithmetic and numpy's own functions.

use super::Facts;
use crate::analysis::events::{At, Bind, Call, Callee};
use crate::python::ast::{ExprBinOp, Operator};
use crate::python::{Expr, Ranged, Stmt};

/// What the numbers of an array are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    /// 64-bit floats.
    Wide,
    /// 64-bit integers: dividing them gives 64-bit floats.
    Whole,
    /// The bytes of an image: a Python number makes 64-bit floats of them, a float array need not.
    Bytes,
}

/// An array: what its numbers are, where they came to be so, and what gave it its size.
#[derive(Debug, Clone, Copy)]
struct Numbers<'a> {
    width: Width,
    made: &'a Expr,
    sized: &'a Expr,
}

/// How many steps an array is followed: names, calls and operators each are one.
const HOPS: u32 = 10;

/// Functions that compute floats, 64-bit ones of 64-bit integers.
const FLOAT_FUNCTIONS: &[&str] = &[
    "sin", "cos", "tan", "tanh", "exp", "log", "log2", "log10", "log1p", "expm1", "sqrt", "arctan2", "arctan", "hypot",
    "deg2rad", "rad2deg",
];

/// Functions that give the numbers they take, in another shape or order, or others of the same type.
const SAME_FUNCTIONS: &[&str] = &[
    "power",
    "abs",
    "absolute",
    "square",
    "maximum",
    "minimum",
    "clip",
    "cumsum",
    "cumprod",
    "diff",
    "concatenate",
    "stack",
    "hstack",
    "vstack",
    "column_stack",
    "dstack",
    "append",
    "tile",
    "repeat",
    "roll",
    "flip",
    "flipud",
    "fliplr",
    "transpose",
    "reshape",
    "ravel",
    "squeeze",
    "expand_dims",
    "meshgrid",
    "dot",
    "matmul",
    "outer",
    "kron",
    "pad",
    "sort",
    "zeros_like",
    "ones_like",
    "empty_like",
    "full_like",
    "ascontiguousarray",
    "copy",
    "broadcast_to",
    "moveaxis",
    "swapaxes",
    "multiply",
    "add",
    "subtract",
    "nan_to_num",
];

/// The same as methods.
const SAME_METHODS: &[&str] = &[
    "copy",
    "flatten",
    "ravel",
    "reshape",
    "transpose",
    "squeeze",
    "swapaxes",
    "repeat",
    "clip",
    "cumsum",
    "take",
    "round",
];

/// What draws floats: how many arguments come before the one that says how many.
const DRAWS: &[(&str, usize)] = &[
    ("rand", 0),
    ("randn", 0),
    ("random", 0),
    ("random_sample", 0),
    ("standard_normal", 0),
    ("exponential", 1),
    ("dirichlet", 0),
    ("multivariate_normal", 0),
    ("normal", 2),
    ("uniform", 2),
    ("beta", 2),
    ("laplace", 2),
    ("gamma", 2),
    ("lognormal", 2),
];

impl<'a> Facts<'a> {
    /// Where an array came to hold 64-bit floats, and the call that gave it its size, when nobody named a type.
    #[must_use]
    pub fn wide_array(&self, at: &At, array: &'a Expr) -> Option<(&'a Expr, &'a Expr)> {
        let found = self.numbers_of(at, array, HOPS)?;
        (found.width == Width::Wide).then_some((found.made, found.sized))
    }

    fn numbers_of(&self, at: &At, expr: &'a Expr, hops: u32) -> Option<Numbers<'a>> {
        let hops = hops.checked_sub(1)?;
        match expr {
            Expr::BinOp(node) => self.computed(at, expr, node, hops),
            Expr::UnaryOp(node) => self.numbers_of(at, &node.operand, hops),
            Expr::Subscript(node) => self.numbers_of(at, &node.value, hops),
            Expr::Attribute(node) if node.attr.as_str() == "T" => self.numbers_of(at, &node.value, hops),
            Expr::Name(_) | Expr::Attribute(_) => self.named_numbers(at, expr, hops),
            Expr::List(node) => self.widest(at, &node.elts, hops),
            Expr::Tuple(node) => self.widest(at, &node.elts, hops),
            Expr::Call(_) => self.called_numbers(expr, hops),
            _ => None,
        }
    }

    /// The widest of several arrays that are put together; of one among unknown ones only wide floats are sure to stay.
    fn widest(&self, at: &At, parts: &'a [Expr], hops: u32) -> Option<Numbers<'a>> {
        let found: Vec<Option<Numbers<'a>>> = parts.iter().map(|part| self.numbers_of(at, part, hops)).collect();
        let wide = found.iter().flatten().find(|part| part.width == Width::Wide);
        let same = || found.first().copied().flatten().filter(|first| same_width(&found, first.width));
        wide.copied().or_else(same)
    }

    /// Arithmetic: wide floats stay so whatever they meet, and integers become so by division or a float.
    fn computed(&self, at: &At, whole: &'a Expr, node: &'a ExprBinOp, hops: u32) -> Option<Numbers<'a>> {
        let sides = [&*node.left, &*node.right];
        let found = sides.map(|side| self.numbers_of(at, side, hops));
        if let Some(wide) = found.iter().flatten().find(|side| side.width == Width::Wide) {
            return Some(*wide);
        }
        let first = found.iter().flatten().next()?;
        let literal = |float: bool| {
            sides.iter().any(|side| matches!(side, Expr::NumberLiteral(node) if !float || node.value.is_float()))
        };
        let divides = node.op == Operator::Div && (first.width == Width::Whole || literal(false));
        let scales = matches!(node.op, Operator::Mult | Operator::Add | Operator::Sub) && literal(true);
        if divides || scales {
            return Some(Numbers { width: Width::Wide, made: whole, sized: first.sized });
        }
        let stays = literal(false) || same_width(&found, first.width);
        stays.then_some(*first)
    }

    /// What a name or an attribute holds: what every binding that reaches the point gives, or every caller.
    fn named_numbers(&self, at: &At, expr: &'a Expr, hops: u32) -> Option<Numbers<'a>> {
        let binds = self.binds_seen(expr, at);
        let is_parameter = |name: &str| self.function(at).is_some_and(|own| own.node.parameters.includes(name));
        let own = expr.is_name_expr() && binds.first().is_some_and(|bind| bind.at.function == at.function);
        if binds.is_empty() || !own && expr.as_name_expr().is_some_and(|name| is_parameter(name.id.as_str())) {
            return self.given_numbers(at, expr, hops);
        }
        let reaching: Vec<&Bind<'a>> = if own {
            let last = binds.iter().rposition(|bind| self.is_always_before(&bind.at, at))?;
            let comes_round = |bind: &Bind<'a>| {
                self.loops(at).any(|turns| {
                    self.is_inside(bind.at.block, turns.block) && !self.is_inside(binds[last].at.block, turns.block)
                })
            };
            binds[last..].iter().filter(|bind| bind.at.order < at.order || comes_round(bind)).copied().collect()
        } else {
            let is_none = |bind: &Bind<'a>| bind.value_expr.is_some_and(Expr::is_none_literal_expr);
            binds.iter().filter(|bind| !is_none(bind)).copied().collect()
        };
        let found: Vec<Option<Numbers<'a>>> = reaching.iter().map(|bind| self.bound_numbers(bind, hops)).collect();
        let last = found.last().copied().flatten()?;
        same_width(&found, last.width).then_some(last)
    }

    fn bound_numbers(&self, bind: &Bind<'a>, hops: u32) -> Option<Numbers<'a>> {
        if let Some(expr) = bind.value_expr {
            return self.numbers_of(&bind.at, expr, hops);
        }
        let Stmt::Assign(assign) = self.statement(bind.at.stmt)?.node else { return None };
        let Some(Expr::Tuple(targets)) = assign.targets.first() else { return None };
        let index = targets.elts.iter().position(|target| target.range() == bind.target.range())?;
        self.unpacked_numbers(&assign.value, index, hops)
    }

    /// One of the several things that a call gives.
    fn unpacked_numbers(&self, value: &'a Expr, index: usize, hops: u32) -> Option<Numbers<'a>> {
        let call = self.call_at(value)?;
        let name = self.full_name(call).unwrap_or_default();
        match name {
            "numpy.meshgrid" => self.called_numbers(value, hops),
            "sklearn.model_selection.train_test_split" => self.numbers_of(&call.at, call.arg(index / 2)?, hops),
            "soundfile.read" if index == 0 && call.keyword("dtype").is_none() => Some(wide(value)),
            _ if name.starts_with("sklearn.datasets.make_") && (index == 0 || name.ends_with("regression")) => {
                Some(wide(value))
            }
            _ => None,
        }
    }

    /// What every caller in view gives a parameter.
    fn given_numbers(&self, at: &At, expr: &'a Expr, hops: u32) -> Option<Numbers<'a>> {
        let Expr::Name(name) = expr else { return None };
        let mut found = Vec::new();
        for caller in self.callers_of(at) {
            let given = self.argument_of(caller, name.id.as_str())?;
            found.push(self.numbers_of(&caller.at, given, hops));
        }
        let first = found.first().copied().flatten()?;
        same_width(&found, first.width).then_some(first)
    }

    fn called_numbers(&self, expr: &'a Expr, hops: u32) -> Option<Numbers<'a>> {
        let call = self.call_at(expr)?;
        let name = self.full_name(call).unwrap_or_default();
        if let Some(function) = name.strip_prefix("numpy.") {
            return self.made_by_numpy(call, function, expr, hops);
        }
        if let Callee::Project(id) = call.callee {
            let own = self.is_own(id).then_some(id.index)?;
            let returns = self.returns().iter().filter(|found| found.at.function == Some(own) && !found.is_yield);
            let found: Vec<_> = returns.map(|found| self.numbers_of(&found.at, found.expr, hops)).collect();
            let first = found.first().copied().flatten()?;
            return same_width(&found, first.width).then_some(first);
        }
        match name {
            "cv2.imread" | "PIL.Image.open" => Some(Numbers { width: Width::Bytes, made: expr, sized: expr }),
            "cv2.cvtColor" | "cv2.resize" | "cv2.flip" => self.numbers_of(&call.at, call.arg(0)?, hops),
            _ if name.starts_with("scipy.stats.") && name.ends_with("norm.rvs") => {
                call.keyword("size").map(|_| wide(expr))
            }
            _ => self.given_by_method(call, expr, hops),
        }
    }

    fn given_by_method(&self, call: &Call<'a>, expr: &'a Expr, hops: u32) -> Option<Numbers<'a>> {
        let on = call.receiver_expr()?;
        let maker = call.receiver.as_ref().and_then(|value| self.name_of(value)).unwrap_or_default();
        let receiver = || self.numbers_of(&call.at, on, hops);
        match call.name {
            "astype" => call.arg(0).filter(|named| is_plain_float(self.written(*named))).map(|_| wide(expr)),
            // A medical image as floats: the library scales it to 64 bits.
            "get_fdata" if call.node.arguments.is_empty() => Some(wide(expr)),
            "fit_transform" | "transform" if maker.starts_with("sklearn.preprocessing.") => {
                self.numbers_of(&call.at, call.arg(0)?, hops).filter(|given| given.width == Width::Wide)
            }
            "convert" | "crop" | "resize" => receiver().filter(|image| image.width == Width::Bytes),
            "mean" | "std" | "sum" | "max" | "min" => receiver().filter(|_| call.keyword("axis").is_some()),
            name if SAME_METHODS.contains(&name) => receiver(),
            _ if matches!(maker, "numpy.random.default_rng" | "numpy.random.RandomState") => {
                drawn(call, call.name, expr)
            }
            _ => None,
        }
    }

    fn made_by_numpy(&self, call: &Call<'a>, function: &str, expr: &'a Expr, hops: u32) -> Option<Numbers<'a>> {
        // At most a type that is no other than the default.
        let untyped = |place: usize| {
            let named = call.keyword("dtype").or_else(|| call.arg(place));
            named.is_none_or(|named| is_plain_float(self.written(named)))
        };
        let float = |arg: &Expr| matches!(arg, Expr::NumberLiteral(node) if node.value.is_float());
        let args = &call.node.arguments.args;
        match function {
            "zeros" | "ones" | "empty" | "loadtxt" | "genfromtxt" | "fromfile" | "identity" => {
                untyped(1).then(|| wide(expr))
            }
            "eye" => untyped(3).then(|| wide(expr)),
            "linspace" | "logspace" | "geomspace" => untyped(5).then(|| wide(expr)),
            "full" => (untyped(2) && call.arg(1).is_some_and(float)).then(|| wide(expr)),
            "arange" if call.keyword("dtype").is_some() => None,
            "arange" if args.iter().any(float) => Some(wide(expr)),
            "arange" if args.len() == 1 => Some(Numbers { width: Width::Whole, made: expr, sized: expr }),
            "array" | "asarray" if untyped(1) => {
                let given = call.arg(0)?;
                let listed = holds_floats(given).then(|| wide(expr));
                listed.or_else(|| self.numbers_of(&call.at, given, hops))
            }
            "mean" | "sum" | "std" | "max" | "min" => {
                let given = call.keyword("axis").and_then(|_| call.arg(0))?;
                self.numbers_of(&call.at, given, hops)
            }
            _ if call.keyword("dtype").is_some() => None,
            name if FLOAT_FUNCTIONS.contains(&name) => {
                let given = self.widest(&call.at, args, hops).filter(|given| given.width != Width::Bytes)?;
                let made = if given.width == Width::Wide { given.made } else { expr };
                Some(Numbers { width: Width::Wide, made, sized: given.sized })
            }
            name if SAME_FUNCTIONS.contains(&name) => {
                let given = self.widest(&call.at, args, hops)?;
                let grows = matches!(name, "meshgrid" | "outer" | "kron" | "tile" | "repeat" | "pad");
                Some(Numbers { sized: if grows { expr } else { given.sized }, ..given })
            }
            name => drawn(call, name.strip_prefix("random.")?, expr),
        }
    }
}

fn wide(made: &Expr) -> Numbers<'_> {
    Numbers { width: Width::Wide, made, sized: made }
}

fn same_width(found: &[Option<Numbers<'_>>], width: Width) -> bool {
    found.iter().all(|part| part.is_some_and(|part| part.width == width))
}

/// What a generator of numpy draws; one number alone is no array.
fn drawn<'a>(call: &Call<'a>, name: &str, expr: &'a Expr) -> Option<Numbers<'a>> {
    if matches!(name, "randint" | "integers" | "permutation") {
        return Some(Numbers { width: Width::Whole, made: expr, sized: expr });
    }
    let (_, before) = DRAWS.iter().find(|(draws, _)| *draws == name)?;
    let several = call.keyword("size").is_some() || call.node.arguments.args.len() > *before;
    (several && call.keyword("dtype").is_none()).then(|| wide(expr))
}

/// Python's own `float`, which numpy takes for 64 bits, as a type.
fn is_plain_float(written: &str) -> bool {
    matches!(written, "float" | "np.float" | "numpy.float" | "np.float_" | "'float'" | "\"float\"")
}

/// Whether a list is written out with a float in it.
fn holds_floats(expr: &Expr) -> bool {
    match expr {
        Expr::List(node) => node.elts.iter().any(holds_floats),
        Expr::Tuple(node) => node.elts.iter().any(holds_floats),
        Expr::UnaryOp(node) => holds_floats(&node.operand),
        Expr::NumberLiteral(node) => node.value.is_float(),
        _ => false,
    }
}
