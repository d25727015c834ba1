//! Loops that run a model on one thing after another, though no loader is in view: over texts, files, jobs of a queue.

use super::{Effect, Facts, Loop};
use crate::analysis::events::{At, Bind, BlockKind, Call, Callee, LoopKind};
use crate::analysis::value::{FunctionId, Kind};
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_expr};
use crate::python::{Expr, Stmt, count_reads_in};
use crate::uses::{last_name, whole_literal, whole_number};

/// Methods by which models, pipelines and encoders run.
const RUNS: &[&str] = &["generate", "encode", "transcribe", "predict", "embed"];

/// A loop that is written out to so few turns shows some examples.
const FEW: u64 = 16;

impl<'a> Facts<'a> {
    /// The loop around a point that runs the same model on another item each turn.
    #[must_use]
    pub fn model_loop(&self, at: &At) -> Option<Loop<'a>> {
        self.loops(at).find(|turns| self.runs_model_on_items(turns))
    }

    /// Whether a loop runs the same model on another item each turn: once a turn, not in a loop within.
    #[must_use]
    pub fn runs_model_on_items(&self, turns: &Loop<'a>) -> bool {
        let BlockKind::Loop(kind, stmt) = turns.node else { return false };
        let many = match stmt {
            Stmt::For(node) => !has_few_turns(&node.iter),
            _ => true,
        };
        let of_items = !matches!(kind, LoopKind::Epochs | LoopKind::Parameters | LoopKind::Loader);
        let trains = || self.effects_in(Effect::Step, turns.block).next().is_some();
        of_items && many && !trains() && self.calls().iter().any(|call| self.is_pass_of_turn(call, turns))
    }

    /// Whether a call runs a model that is there before the loop, on something of this turn.
    fn is_pass_of_turn(&self, call: &Call<'a>, turns: &Loop<'a>) -> bool {
        if !self.is_inside(call.at.block, turns.block) {
            return false;
        }
        let own = self.loops(&call.at).find(|around| matches!(around.node, BlockKind::Loop(..)));
        own.is_some_and(|own| own.block == turns.block)
            && self.runs_model(call)
            && !self.varies_in(&call.node.func, turns.block)
            && self.takes_item(call, turns)
    }

    /// Whether a call is given something that the turn was given, not what the turn before has made: `decode(tokens)`.
    fn takes_item(&self, call: &Call<'a>, turns: &Loop<'a>) -> bool {
        let binds = || self.binds().iter().filter(|bind| self.is_inside(bind.at.block, turns.block));
        let names: Vec<&str> = match turns.node {
            BlockKind::Loop(_, Stmt::For(node)) => {
                let words = self.written(&*node.target).split(|c: char| !c.is_alphanumeric() && c != '_');
                words.filter(|word| !word.is_empty() && *word != "_").collect()
            }
            // `job = queue.get()`
            _ => binds().filter(|bind| self.comes_next(bind, turns)).map(|bind| bind.name).collect(),
        };
        // A count says which turn it is; the item is found by it.
        let counts = matches!(turns.kind, LoopKind::Range | LoopKind::Steps);
        let reads = |expr: &Expr, names: &[&str]| names.iter().any(|name| count_reads_in(expr, name) > 0);
        let picks = |expr: &Expr, names: &[&str]| {
            let mut search = Items { names, found: false };
            search.visit_expr(expr);
            search.found
        };
        let of_item = |expr: &Expr, names: &[&str]| if counts { picks(expr, names) } else { reads(expr, names) };
        let given = || call.node.arguments.args.iter().chain(call.node.arguments.keywords.iter().map(|k| &k.value));
        if given().any(|arg| of_item(arg, &names)) {
            return true;
        }
        let mut made = Vec::new();
        for bind in binds().filter(|bind| bind.at.order < call.at.order) {
            if bind.value_expr.is_some_and(|value| of_item(value, &names) || reads(value, &made)) {
                made.push(bind.name);
            }
        }
        given().any(|arg| reads(arg, &made))
    }

    /// Whether a name gets what a queue, a stream or an iterator gives next.
    fn comes_next(&self, bind: &Bind<'a>, turns: &Loop<'a>) -> bool {
        let assigned = || match self.statement(bind.at.stmt)?.node {
            // `_, message = redis.blpop("jobs")`
            Stmt::Assign(assign) if assign.targets.iter().all(Expr::is_tuple_expr) => Some(&*assign.value),
            _ => None,
        };
        let fetch = bind.value_expr.or_else(assigned).and_then(fetched);
        fetch.is_some_and(|func| !self.varies_in(func, turns.block))
    }

    /// Whether a call is one pass of a model, itself or in a function of this file that runs it once.
    fn runs_model(&self, call: &Call<'a>) -> bool {
        let by_method = || {
            let known = call.receiver.as_ref().is_some_and(|value| value.kind == Kind::Module);
            RUNS.contains(&call.name) && (known || self.is_made_pipeline(call.receiver_expr()))
        };
        match call.callee {
            Callee::Module => !call.result.has(crate::analysis::value::Flags::LOSS),
            Callee::Project(id) => self.is_own(id) && self.runs_model_once(id),
            _ => by_method() || self.is_made_pipeline(Some(&call.node.func)),
        }
    }

    /// Whether a name is given a pipeline of `transformers` or `diffusers`, or an encoder of sentences.
    fn is_made_pipeline(&self, expr: Option<&Expr>) -> bool {
        let Some(name) = expr.and_then(last_name) else { return false };
        let makes = |value: &Expr| {
            let text = self.written(value).split('(').next().unwrap_or_default();
            let text = text.strip_suffix(".from_pretrained").unwrap_or(text);
            text == "pipeline" || text.ends_with("Pipeline") || text.ends_with("SentenceTransformer")
        };
        let mut given = self.binds_of(name).filter_map(|bind| bind.value_expr).peekable();
        given.peek().is_some() && given.all(makes)
    }

    /// Whether a function of this file runs a model, and in no loop of its own.
    fn runs_model_once(&self, id: FunctionId) -> bool {
        let runs = self.summary(id).is_some_and(|summary| summary.forwards || summary.forwards_off);
        let trains = self.summary(id).is_some_and(|summary| summary.calls_backward || summary.steps);
        let own = |call: &&Call<'a>| call.at.function == Some(id.index);
        let passes = |call: &&Call<'a>| match call.callee {
            Callee::Module => true,
            Callee::Project(other) => {
                self.summary(other).is_some_and(|summary| summary.forwards || summary.forwards_off)
            }
            _ => false,
        };
        let mut passes = self.calls().iter().filter(own).filter(passes);
        runs && !trains && passes.all(|call| self.loops(&call.at).next().is_none())
    }
}

/// Finds an item picked by one of some names: `files[index]`.
struct Items<'n> {
    names: &'n [&'n str],
    found: bool,
}

impl<'e> SourceOrderVisitor<'e> for Items<'_> {
    fn visit_expr(&mut self, expr: &'e Expr) {
        if let Expr::Subscript(node) = expr {
            self.found |= self.names.iter().any(|name| count_reads_in(&node.slice, name) > 0);
        }
        if !self.found {
            walk_expr(self, expr);
        }
    }
}

/// What fetches the next thing in an expression, be that decoded, picked from or gone over at once:
/// `json.loads(queue.get())`, `[m for m in consumer.consume(64) if not m.error()]`.
fn fetched(expr: &Expr) -> Option<&Expr> {
    const FETCHES: &[&str] = &[
        "get",
        "next",
        "recv",
        "read",
        "pop",
        "popleft",
        "receive",
        "poll",
        "get_nowait",
        "blpop",
        "brpop",
        "consume",
        "getmany",
        "fetch",
        "dequeue",
        "receive_messages",
        "receive_message",
        "recv_json",
        "recv_pyobj",
        "xreadgroup",
        "xread",
        "accept",
    ];
    match expr {
        Expr::Await(node) => fetched(&node.value),
        Expr::Subscript(node) => fetched(&node.value),
        Expr::ListComp(node) => fetched(&node.generators.first()?.iter),
        Expr::Call(call) if last_name(&call.func).is_some_and(|name| FETCHES.contains(&name)) => Some(&call.func),
        Expr::Call(call) => match (&*call.func, call.arguments.args.first()) {
            (Expr::Attribute(method), _) if method.value.is_call_expr() => fetched(&method.value),
            (_, Some(first)) => fetched(first),
            _ => None,
        },
        _ => None,
    }
}

/// Whether what a loop goes over is written out in a few items, or is a short count: that shows some examples.
#[must_use]
pub(crate) fn has_few_turns(iter: &Expr) -> bool {
    turns_written(iter).is_some_and(|turns| turns <= FEW)
}

/// Whether a loop has many turns, and says so: `for i in range(1000)`.
#[must_use]
pub(crate) fn has_many_turns(iter: &Expr) -> bool {
    turns_written(iter).is_some_and(|turns| turns >= MANY)
}

/// Turns of which no graphs can all be kept.
const MANY: u64 = 100;

/// How many turns a loop over an expression has at most, where that is written out: `range(0, 64, 8)`, `files[:5]`.
fn turns_written(iter: &Expr) -> Option<u64> {
    let listed = |parts: &[Expr]| (!parts.iter().any(Expr::is_starred_expr)).then_some(parts.len() as u64);
    match iter {
        Expr::List(node) => listed(&node.elts),
        Expr::Tuple(node) => listed(&node.elts),
        Expr::Set(node) => listed(&node.elts),
        Expr::Dict(node) => node.items.iter().all(|item| item.key.is_some()).then_some(node.items.len() as u64),
        Expr::Subscript(node) => match &*node.slice {
            Expr::Slice(part) if part.step.is_none() => {
                let first = part.lower.as_deref().map_or(Some(0), whole_literal)?;
                part.upper.as_deref().and_then(whole_literal)?.checked_sub(first)
            }
            _ => None,
        },
        Expr::Call(call) => {
            let args = &call.arguments.args;
            match last_name(&call.func)? {
                "range" | "trange" | "arange" => turns_of_range(args),
                // `random.sample(files, 5)`, `islice(loader, 5)`.
                "sample" | "choices" | "islice" | "take" => args.last().and_then(whole_literal),
                "zip" => args.iter().filter_map(turns_written).min(),
                "items" | "keys" | "values" => match &*call.func {
                    Expr::Attribute(method) => turns_written(&method.value),
                    _ => None,
                },
                "product" | "cycle" | "repeat" | "chain" => None,
                // `enumerate(...)`, `tqdm(...)`, `sorted(...)`: one turn for each of what is given.
                _ => args.first().and_then(turns_written),
            }
        }
        _ => None,
    }
}

/// `range(n)`, `range(first, end)`, `range(first, end, step)`.
fn turns_of_range(args: &[Expr]) -> Option<u64> {
    match args {
        [count] => whole_number(count),
        [first, end] => whole_number(end)?.checked_sub(whole_number(first)?),
        [first, end, step] => {
            let count = whole_number(end)?.checked_sub(whole_number(first)?)?;
            Some(count.div_ceil(whole_number(step).filter(|step| *step > 0)?))
        }
        _ => None,
    }
}
