//! Where something is: blocks, loops, handlers, what comes before what.

use super::{Effect, Facts, Loop, Turn};
use crate::analysis::events::{
    At, Bind, Block, BlockKind, Call, Callee, Delete, LoopKind, Root, Statement, StmtId, StoreKind,
};
use crate::analysis::value::{BlockId, Value};
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_body, walk_keyword};
use crate::python::ast::{CmpOp, Keyword, Operator};
use crate::python::{Expr, Ranged, count_reads_in};
use crate::uses::{is_number, last_name, string_of, whole_number};

impl<'a> Facts<'a> {
    /// A statement.
    #[must_use]
    pub fn statement(&self, id: StmtId) -> Option<&Statement<'a>> {
        self.log.statements.get(id.0 as usize)
    }

    /// The index of a statement.
    #[must_use]
    pub fn statement_id(&self, node: &crate::python::Stmt) -> Option<StmtId> {
        let index = self.log.statements.iter().position(|statement| std::ptr::eq(statement.node, node))?;
        Some(StmtId(index as u32))
    }

    /// A block.
    #[must_use]
    pub fn block(&self, id: BlockId) -> &Block<'a> {
        self.log.blocks.get(id.0 as usize).unwrap_or(&self.log.blocks[0])
    }

    /// The blocks around a point within its function, innermost first; the function's own comes last.
    pub fn blocks_around(&self, at: &At) -> impl Iterator<Item = (BlockId, &Block<'a>)> {
        let mut next = Some(at.block);
        std::iter::from_fn(move || {
            let id = next?;
            let block = self.block(id);
            let ends = matches!(block.kind, BlockKind::Function(_) | BlockKind::Module);
            next = (!ends).then_some(block.parent);
            Some((id, block))
        })
    }

    /// The block of the function a point is in, or the module's.
    #[must_use]
    pub fn function_block(&self, at: &At) -> BlockId {
        self.blocks_around(at).last().map_or(BlockId::MODULE, |(id, _)| id)
    }

    /// The loops around a point within its function, innermost first, comprehensions among them.
    pub fn loops(&self, at: &At) -> impl Iterator<Item = Loop<'a>> {
        self.blocks_around(at).filter_map(|(block, found)| {
            let kind = found.kind.loop_kind()?;
            Some(Loop { block, kind, range: found.range, node: found.kind })
        })
    }

    /// The innermost loop around a point that runs once a batch: over a loader, or one that steps an optimizer itself.
    #[must_use]
    pub fn batch_loop(&self, at: &At) -> Option<Loop<'a>> {
        self.loops(at).find(|found| self.is_per_batch(found)).filter(|found| !self.is_on_few_turns(at, found))
    }

    /// Whether a point is reached on a few turns of a loop only: `for step, batch in enumerate(loader): if step == 0: ...`,
    /// `if step in chosen: ...`.
    #[must_use]
    pub fn is_on_few_turns(&self, at: &At, turns: &Loop<'a>) -> bool {
        let BlockKind::Loop(_, crate::python::Stmt::For(node)) = turns.node else { return false };
        let counts =
            |expr: &Expr| matches!(expr, Expr::Name(name) if self.target_binds(&node.target, name.id.as_str()));
        let mut tests = self.blocks_around(at).take_while(|(id, _)| *id != turns.block);
        tests.any(|(_, block)| {
            let BlockKind::If(Some(Expr::Compare(test))) = block.kind else { return false };
            let [left, right] = [&*test.left, &test.comparators[0]];
            let one = |name: &Expr, number: &Expr| counts(name) && number.is_number_literal_expr();
            match &*test.ops {
                [CmpOp::Eq] => one(left, right) || one(right, left),
                [CmpOp::In] => counts(left),
                _ => false,
            }
        })
    }

    /// The same, if no other loop is between it and the point.
    #[must_use]
    pub fn innermost_batch_loop(&self, at: &At) -> Option<Loop<'a>> {
        self.loops(at).next().filter(|found| self.is_per_batch(found))
    }

    /// What runs once a batch around a point: a loop, or the function where a loop over batches calls it or where it
    /// takes a step of training itself.
    #[must_use]
    pub fn turn(&self, at: &At) -> Option<Turn> {
        if let Some(batches) = self.batch_loop(at) {
            return Some(batches.turn());
        }
        (self.is_called_per_batch(at) || self.is_training_step(at)).then(|| self.function_turn(at))?
    }

    /// The function around a point as what runs once a batch.
    #[must_use]
    pub fn function_turn(&self, at: &At) -> Option<Turn> {
        let head = self.function(at)?.node.name.range();
        Some(Turn { block: self.function_block(at), head })
    }

    /// Whether the function a point is in goes back and steps once a call, outside of loops.
    #[must_use]
    pub fn is_training_step(&self, at: &At) -> bool {
        let own = |effect| {
            let mut calls = self
                .effects(effect)
                .filter(|call| call.at.function == at.function && !matches!(call.callee, Callee::Project(_)));
            calls.any(|call| self.loops(&call.at).next().is_none())
        };
        at.function.is_some() && own(Effect::Step) && own(Effect::Backward)
    }

    /// Whether a loop runs once a batch: over a loader, or one that steps an optimizer itself.
    #[must_use]
    pub fn is_per_batch(&self, turns: &Loop<'_>) -> bool {
        turns.kind == LoopKind::Loader || self.trains(turns)
    }

    /// Whether a loop steps an optimizer once a turn: in its own body, not in a loop inside it.
    #[must_use]
    pub fn trains(&self, turns: &Loop<'_>) -> bool {
        // A function that trains in loops of its own, or makes its optimizer, is an epoch or a whole run.
        let own = |call: &Call<'_>| {
            self.loops(&call.at).next().is_some_and(|innermost| innermost.block == turns.block)
                && !self.steps_another_each_turn(call, turns)
                && self.callee_summary(call).is_none_or(|summary| summary.steps_batch)
        };
        let comprehension = matches!(turns.node, BlockKind::Comprehension(..));
        !comprehension && turns.kind != LoopKind::Parameters && self.effects_in(Effect::Step, turns.block).any(own)
    }

    /// `for critic, optimizer in zip(critics, optimizers)`: a loop over optimizers, not over batches.
    fn steps_another_each_turn(&self, step: &Call<'_>, turns: &Loop<'_>) -> bool {
        let BlockKind::Loop(_, crate::python::Stmt::For(node)) = turns.node else { return false };
        let Some(stepped) = step.receiver_expr() else { return false };
        let target = self.source.slice(node.target.range());
        let mut names = target.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty());
        names.any(|name| self.mentions_word(stepped.range(), name))
    }

    /// Whether `block` is `outer` or inside it.
    #[must_use]
    pub fn is_inside(&self, block: BlockId, outer: BlockId) -> bool {
        let mut now = block;
        loop {
            if now == outer {
                return true;
            }
            let parent = self.block(now).parent;
            if parent == now || now == BlockId::ELSEWHERE {
                return false;
            }
            now = parent;
        }
    }

    /// The `except` a point is in.
    #[must_use]
    pub fn handler(&self, at: &At) -> Option<&'a crate::python::ast::ExceptHandlerExceptHandler> {
        self.blocks_around(at).find_map(|(_, block)| match block.kind {
            BlockKind::Handler(node) => Some(node),
            _ => None,
        })
    }

    /// Whether a point is in a `with` over what has this full name: `torch.autocast`.
    #[must_use]
    pub fn is_within(&self, at: &At, full_name: &str) -> bool {
        let mut items = self.log.withs.iter();
        items.any(|item| self.name_of(&item.value) == Some(full_name) && self.is_inside(at.block, item.body))
    }

    /// Whether, within `outer`, a point is reached on every path: under no `if`, `except` or `case` of it.
    #[must_use]
    pub fn is_unconditional_in(&self, at: &At, outer: BlockId) -> bool {
        let mut blocks = self.blocks_around(at).take_while(|(id, _)| *id != outer);
        // `if torch.cuda.is_available():` holds wherever memory of a GPU matters.
        let asks_for_gpu = |kind: &BlockKind<'_>| match kind {
            BlockKind::If(Some(test)) => {
                let asked = self.source.slice(test.range()).to_ascii_lowercase();
                // `if cfg.reduce_gpu_mem:` asks for a way to save memory, not for a GPU.
                let saves =
                    ["mem", "cache", "clear", "empty", "low", "offload"].iter().any(|word| asked.contains(word));
                (asked.contains("cuda") || asked.contains("gpu"))
                    && !asked.contains('%')
                    && !asked.contains("not ")
                    && !saves
            }
            _ => false,
        };
        let always = |kind: &BlockKind<'_>| kind.is_unconditional() || asks_for_gpu(kind);
        self.is_inside(at.block, outer) && blocks.all(|(_, block)| always(&block.kind))
    }

    /// Whether `first` happens before `second` on every path to it.
    #[must_use]
    pub fn is_always_before(&self, first: &At, second: &At) -> bool {
        if first.function != second.function || first.order >= second.order {
            return false;
        }
        let mut common = first.block;
        while !self.is_inside(second.block, common) {
            common = self.block(common).parent;
        }
        self.is_unconditional_in(first, common)
    }

    /// Whether a value was made before a loop, or elsewhere, on every path: it outlives the loop's turns.
    #[must_use]
    pub fn outlives(&self, value: &Value, turn_of: &Loop<'_>) -> bool {
        value.born == BlockId::ELSEWHERE || !self.is_inside(value.born, turn_of.block)
    }

    /// Bindings of a name, or of an attribute of that name.
    pub fn binds_of(&self, name: &str) -> impl Iterator<Item = &Bind<'a>> {
        self.binds_by_name.get(name).into_iter().flatten().map(|&index| &self.log.binds[index as usize])
    }

    /// Bindings of what an expression names as seen from a point: of `self.x` those of its own class and of its bases, of
    /// a name those of its own function, or of what is around that. Another class may have an attribute of that name too.
    #[must_use]
    pub fn binds_seen(&self, expr: &Expr, at: &At) -> Vec<&Bind<'a>> {
        match expr {
            Expr::Attribute(node) => {
                let class = self.class_around(at).filter(|_| is_self(&node.value));
                let own = class.map(|class| self.tables.ancestry(class));
                let same = |bind: &&Bind<'a>| match (bind.target, &own) {
                    (Expr::Attribute(target), Some(own)) => {
                        let made_in = self.class_around(&bind.at);
                        is_self(&target.value) && made_in.is_some_and(|class| own.contains(&class))
                    }
                    (target, _) => target.is_attribute_expr(),
                };
                self.binds_of(node.attr.as_str()).filter(same).collect()
            }
            Expr::Name(node) => {
                let named = || self.binds_of(node.id.as_str()).filter(|bind| bind.target.is_name_expr());
                let mut function = at.function;
                loop {
                    let found: Vec<&Bind<'a>> = named().filter(|bind| bind.at.function == function).collect();
                    let Some(index) = function.filter(|_| found.is_empty()) else { return found };
                    function = self.outline().functions.get(index as usize).and_then(|around| around.parent);
                }
            }
            _ => Vec::new(),
        }
    }

    /// Whether two blocks are branches of one `if`: what happens in the first never reaches the second.
    #[must_use]
    pub fn are_exclusive(&self, first: BlockId, second: BlockId) -> bool {
        let mut common = first;
        while !self.is_inside(second, common) {
            common = self.block(common).parent;
        }
        let branch = |block: BlockId| {
            let chain = std::iter::successors(Some(block), |id| Some(self.block(*id).parent));
            chain.take_while(|id| *id != common).last()
        };
        let (Some(first), Some(second)) = (branch(first), branch(second)) else { return false };
        let (first, second) = (self.block(first), self.block(second));
        let is_branch = |block: &Block<'a>| matches!(block.kind, BlockKind::If(_) | BlockKind::Else(_));
        is_branch(first)
            && is_branch(second)
            && self.log.statements.iter().any(|found| {
                let whole = found.node.range();
                found.node.is_if_stmt()
                    && whole.contains_range(first.range)
                    && whole.contains_range(second.range)
                    && found.block == common
            })
    }

    /// What this file gives a name unless told otherwise: the defaults of parameters and command-line options so named.
    pub fn defaults_of(&self, name: &str) -> impl Iterator<Item = &'a Expr> {
        let options = self.calls_named("add_argument").filter_map(move |call| {
            let is_meant =
                |arg: &Expr| string_of(arg).is_some_and(|flag| flag.trim_start_matches('-').replace('-', "_") == name);
            call.node.arguments.args.iter().any(is_meant).then(|| call.keyword("default")).flatten()
        });
        self.defaults.get(name).into_iter().flatten().copied().chain(options)
    }

    /// Whether a setting of this name is one number wherever the program gives it a value: in this file, on the command
    /// line, as the default of a parameter. Somebody may tell it otherwise; nothing in view does.
    #[must_use]
    pub fn is_set_to(&self, name: &str, number: i64) -> bool {
        let outlines = self.outlines_of_process();
        let options = outlines.iter().flat_map(|outline| &outline.options);
        let options = options.filter(|(option, _)| option == name).map(|(_, default)| *default);
        // A parameter's default alone proves nothing: who calls may be out of view.
        let mut defaults = self.defaults.get(name).into_iter().flatten();
        // `steps = args.steps` hands the setting on; a computed value is another one.
        let bound = self.binds_of(name).filter_map(|bind| bind.value_expr);
        let hands_on = |value: &Expr| match value {
            Expr::Subscript(node) => string_of(&node.slice) == Some(name),
            other => last_name(other) == Some(name),
        };
        let bound = bound.filter(|value| !hands_on(value));
        let mut values = options.chain(bound).peekable();
        let same = |value: &Expr| is_number(value, number);
        let known = values.peek().is_some() || self.is_always_given(name, same);
        known && values.all(same) && defaults.all(|default| same(default))
    }

    /// Whether calls of the project give a parameter of this name, and every one of them what is asked for.
    fn is_always_given(&self, name: &str, same: impl Fn(&Expr) -> bool) -> bool {
        struct Search<'n, 'w>(&'w str, Vec<&'n Expr>);
        impl<'n> SourceOrderVisitor<'n> for Search<'n, '_> {
            fn visit_keyword(&mut self, keyword: &'n Keyword) {
                let named = keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == self.0);
                self.1.extend(Some(&keyword.value).filter(|_| named));
                walk_keyword(self, keyword);
            }
        }
        let mut search = Search(name, Vec::new());
        for outline in self.outlines_of_process() {
            walk_body(&mut search, outline.body);
        }
        !search.1.is_empty() && search.1.into_iter().all(same)
    }

    /// Everything this file gives a name, or an attribute of that name: what it is bound to, and its defaults.
    pub fn given_to(&self, name: &str) -> impl Iterator<Item = &'a Expr> {
        self.binds_of(name).filter_map(|bind| bind.value_expr).chain(self.defaults_of(name))
    }

    /// The same as seen from a point: what its own function gives the name, where it does.
    #[must_use]
    pub fn given_at(&self, name: &str, at: &At) -> Vec<&'a Expr> {
        let own = self.binds_of(name).filter(|bind| bind.at.function == at.function && bind.target.is_name_expr());
        let mut found: Vec<&'a Expr> = own.filter_map(|bind| bind.value_expr).collect();
        let parameters = self.function(at).map(|function| &function.node.parameters);
        let default = parameters.into_iter().flat_map(|all| all.iter_non_variadic_params());
        found.extend(default.filter(|own| own.name().as_str() == name).filter_map(|own| own.default.as_deref()));
        if found.is_empty() { self.given_to(name).collect() } else { found }
    }

    /// The whole numbers an expression may be, as far as this file gives them: through names that only hand a setting on,
    /// as in `self.size = size`, `size=SIZE` and `SIZE = 50_257`.
    #[must_use]
    pub fn numbers_given(&self, expr: &'a Expr, at: &At) -> Vec<u64> {
        let own = last_name(expr).map(|name| self.given_at(name, at)).unwrap_or_default();
        let (mut found, mut seen) = (Vec::new(), vec![self.written(expr)]);
        let mut next: Vec<&'a Expr> = if whole_number(expr).is_some() { vec![expr] } else { own };
        let name = last_name(expr);
        next.extend(
            name.into_iter().flat_map(|name| self.arguments_for(name, Some(at)).into_iter().chain(self.imported(name))),
        );
        while let Some(expr) = next.pop() {
            if let Some(number) = self.number_of(expr, 3) {
                found.push(number);
                continue;
            }
            let text = self.written(expr);
            if let Some(name) = last_name(expr).filter(|_| !seen.contains(&text) && seen.len() < 6) {
                seen.push(text);
                next.extend(self.given_to(name).chain(self.arguments_for(name, None)).chain(self.imported(name)));
            }
        }
        found
    }

    /// The whole number that arithmetic gives, where every name in it has one value: `4 ** K` with `K = 6`.
    fn number_of(&self, expr: &'a Expr, hops: u32) -> Option<u64> {
        if let Some(number) = whole_number(expr) {
            return Some(number);
        }
        let hops = hops.checked_sub(1)?;
        let Expr::BinOp(node) = expr else { return None };
        let side = |side: &'a Expr| match side {
            Expr::Name(name) => {
                let mut given = self.given_to(name.id.as_str()).chain(self.imported(name.id.as_str()));
                match (given.next(), given.next()) {
                    (Some(only), None) => self.number_of(only, hops),
                    _ => None,
                }
            }
            other => self.number_of(other, hops),
        };
        let (left, right) = (side(&node.left)?, side(&node.right)?);
        match node.op {
            Operator::Mult => left.checked_mul(right),
            Operator::Pow => left.checked_pow(u32::try_from(right).ok()?),
            Operator::Add => left.checked_add(right),
            Operator::Sub => left.checked_sub(right),
            Operator::FloorDiv => left.checked_div(right),
            Operator::LShift => left.checked_mul(1u64.checked_shl(u32::try_from(right).ok()?)?),
            _ => None,
        }
    }

    /// What calls in this file give a parameter of this name: of the function at a point, or of any.
    #[must_use]
    pub fn arguments_for(&self, name: &str, at: Option<&At>) -> Vec<&'a Expr> {
        let takers = self.takers.get(name).into_iter().flatten().copied();
        let takers = takers.filter(|index| at.is_none_or(|at| at.function == Some(*index)));
        let calls = takers.flat_map(|index| {
            let function = &self.outline().functions[index as usize];
            let class = function.class.map(|class| self.outline().classes[class as usize].node.name.as_str());
            let called = function.node.name.as_str();
            let called = class.filter(|_| called == "__init__").unwrap_or(called);
            let is_it = move |call: &&Call<'a>| match call.callee {
                Callee::Project(id) => self.is_own(id) && id.index == index,
                _ => false,
            };
            self.calls_named(called).filter(is_it)
        });
        calls.filter_map(|call| self.argument_of(call, name)).collect()
    }

    /// What another file of the project binds a name to that this one imports: `from settings import VOCABULARY`.
    fn imported(&self, name: &str) -> Option<&'a Expr> {
        let (module, original) = self.outline().imports.get(name)?.rsplit_once('.')?;
        let file = self.tables.find_module(module, self.file)?;
        self.tables.outlines[file as usize].body.iter().find_map(|stmt| match stmt {
            crate::python::Stmt::Assign(assign) => {
                let is_it = |target: &Expr| matches!(target, Expr::Name(found) if found.id.as_str() == original);
                assign.targets.iter().any(is_it).then_some(&*assign.value)
            }
            _ => None,
        })
    }

    /// What a call of a function of this project gives a parameter.
    #[must_use]
    pub fn argument_of(&self, call: &Call<'a>, name: &str) -> Option<&'a Expr> {
        let Callee::Project(id) = call.callee else { return None };
        let function = self.function_def(id);
        let mut parameters = function.node.parameters.iter_non_variadic_params();
        let index = parameters.position(|parameter| parameter.name().as_str() == name)?;
        // A method's first is the object itself, also where a call of the class makes that.
        let bound = usize::from(function.is_bound());
        call.keyword(name).or_else(|| call.arg(index.checked_sub(bound)?))
    }

    /// Whether a name or attribute is bound anew within a block, by another statement than `except`.
    #[must_use]
    pub fn is_rebound_in(&self, target: &Expr, block: BlockId, except: StmtId) -> bool {
        let name = match target {
            Expr::Name(node) => node.id.as_str(),
            Expr::Attribute(node) => node.attr.as_str(),
            Expr::Subscript(node) => return self.is_rebound_in(&node.value, block, except),
            _ => return false,
        };
        let text = self.source.slice(target.range());
        self.binds_of(name).any(|bind| {
            bind.at.stmt != except
                && self.source.slice(bind.target.range()) == text
                && self.is_inside(bind.at.block, block)
        })
    }

    /// Whether an expression reads a name that a block binds: a loop's variable, a counter.
    #[must_use]
    pub fn varies_in(&self, expr: &Expr, block: BlockId) -> bool {
        let bound = self.log.binds.iter().filter(|bind| self.is_inside(bind.at.block, block)).map(|bind| bind.name);
        let counted = self.log.stores.iter().filter(|store| self.is_inside(store.at.block, block));
        let counted = counted.filter_map(|store| match store.root {
            Root::Local(name) | Root::Outer(name) if store.kind == StoreKind::AugAssign => Some(name),
            _ => None,
        });
        bound.chain(counted).any(|name| count_reads_in(expr, name) > 0)
    }

    /// Whether the target of a `for` binds a name: `i, (x, y)` binds `y`.
    #[must_use]
    pub fn target_binds(&self, target: &Expr, name: &str) -> bool {
        self.written(target).split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
    }

    /// Whether a holder is bound anew, cleared, popped from or deleted within a block.
    #[must_use]
    pub fn is_emptied_in(&self, target: &Expr, block: BlockId, except: StmtId) -> bool {
        let text = self.source.slice(target.range());
        let empties = |name: &str| {
            self.calls_named(name).any(|call| {
                call.receiver_expr().is_some_and(|expr| self.source.slice(expr.range()) == text)
                    && self.is_inside(call.at.block, block)
            })
        };
        let deletes = |delete: &Delete<'_>| {
            self.source.slice(delete.target.range()).starts_with(text) && self.is_inside(delete.at.block, block)
        };
        self.is_rebound_in(target, block, except)
            || ["clear", "pop", "popleft", "popitem"].into_iter().any(empties)
            || self.log.deletes.iter().any(deletes)
    }
}

fn is_self(expr: &Expr) -> bool {
    matches!(expr, Expr::Name(name) if name.id.as_str() == "self")
}
