//! Where something is: blocks, loops, handlers, what comes before what.

use super::{Effect, Facts, Loop, Turn};
use crate::analysis::events::{
    At, Bind, Block, BlockKind, Call, Callee, Delete, LoopKind, Root, Statement, StmtId, Store, StoreKind,
};
use crate::analysis::value::{BlockId, Value};
use crate::python::ast::CmpOp;
use crate::python::{Expr, Ranged, Stmt, TextRange, TextSize, count_reads_in, root_name};

impl<'a> Facts<'a> {
    /// A statement.
    #[must_use]
    pub fn statement(&self, id: StmtId) -> Option<&Statement<'a>> {
        self.log.statements.get(id.0 as usize)
    }

    /// The index of a statement.
    #[must_use]
    pub fn statement_id(&self, node: &Stmt) -> Option<StmtId> {
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
        let BlockKind::Loop(_, Stmt::For(node)) = turns.node else { return false };
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
        (turns.kind == LoopKind::Loader || self.trains(turns)) && !self.ends_at_once(turns)
    }

    /// Whether the first turn of a loop is the last one, as written: `for batch in loader: show(batch); break`.
    #[must_use]
    pub fn ends_at_once(&self, turns: &Loop<'_>) -> bool {
        let body = match turns.node {
            BlockKind::Loop(_, Stmt::For(node)) => &node.body,
            BlockKind::Loop(_, Stmt::While(node)) => &node.body,
            _ => return false,
        };
        body.iter().any(|stmt| matches!(stmt, Stmt::Break(_) | Stmt::Return(_)))
            && !self.statements_in(turns.block).any(|found| matches!(found.node, Stmt::Continue(_)))
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
        let BlockKind::Loop(_, Stmt::For(node)) = turns.node else { return false };
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

    /// Whether a piece of text is part of a block: of its own text, or of a function whose body is read in there.
    #[must_use]
    pub fn is_text_of(&self, range: TextRange, block: BlockId) -> bool {
        let read_in = |(body, text): &(BlockId, TextRange)| text.contains_range(range) && self.is_inside(*body, block);
        self.block(block).range.contains_range(range) || self.read_in_place.iter().any(read_in)
    }

    /// The function whose body is read where it is called, of a piece of text.
    #[must_use]
    pub fn read_in_place(&self, range: TextRange) -> Option<TextRange> {
        self.read_in_place.iter().map(|(_, text)| *text).find(|text| text.contains_range(range))
    }

    /// Where something is read in the order of the text: what is read in place, where the call is.
    #[must_use]
    pub fn read_at(&self, found: &impl Ranged) -> TextSize {
        let range = found.range();
        let call = self.read_in_place.iter().find(|(_, text)| text.contains_range(range));
        call.map_or_else(|| range.start(), |(body, _)| self.block(*body).range.start())
    }

    /// The `except` a point is in.
    #[must_use]
    pub fn handler(&self, at: &At) -> Option<&'a crate::python::ast::ExceptHandlerExceptHandler> {
        self.blocks_around(at).find_map(|(_, block)| match block.kind {
            BlockKind::Handler(node) => Some(node),
            _ => None,
        })
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
        bound.chain(counted).any(|name| count_reads_in(expr, name) > 0 && !self.is_another_name_in(name, block))
    }

    /// Whether a block gives a name only to what is there before it: `layer = model.layer4[-1]`.
    fn is_another_name_in(&self, name: &str, block: BlockId) -> bool {
        let bound_here = |bind: &&Bind<'a>| self.is_inside(bind.at.block, block) && bind.target.is_name_expr();
        let lasting = |expr: &Expr| {
            is_path(expr) && root_name(expr).is_some_and(|root| self.binds_of(root).find(bound_here).is_none())
        };
        let mut binds = self.binds_of(name).filter(bound_here).peekable();
        let counted = |store: &Store<'a>| {
            store.kind == StoreKind::AugAssign
                && matches!(store.root, Root::Local(own) | Root::Outer(own) if own == name)
        };
        binds.peek().is_some()
            && binds.all(|bind| bind.value_expr.is_some_and(lasting))
            && !self.log.stores.iter().any(|store| counted(store) && self.is_inside(store.at.block, block))
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

/// A name, or parts of one picked by attributes and numbers: `model.layer4[-1]`.
fn is_path(expr: &Expr) -> bool {
    match expr {
        Expr::Name(_) => true,
        Expr::Attribute(node) => is_path(&node.value),
        Expr::Subscript(node) => {
            let fixed = match &*node.slice {
                Expr::UnaryOp(sign) => sign.operand.is_literal_expr(),
                slice => slice.is_literal_expr(),
            };
            fixed && is_path(&node.value)
        }
        _ => false,
    }
}
