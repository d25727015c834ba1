//! Builds the functions of a file: scopes, blocks, and what has to happen on the way out of `with` and `finally`.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::scopes::{Scope, scope_of, scope_of_lambda};
use super::{Block, BlockId, Function, FunctionKind, Inst, Name, Op, Param, ParamKind, Reg, Span, Term, Unit, Var};
use crate::syntax::tree::{self, Expr, Stmt};
use crate::syntax::{Ranged, Source};

/// Expressions and statements nested deeper than this are not followed: the parser has no such limit, the stack has.
pub(super) const DEPTH_MAX: usize = 150;
/// `finally` blocks are lowered once for each way out; deeper nesting than this would double too often.
const FINALLY_COPIES_MAX: usize = 3;

/// Lowers a file.
#[must_use]
pub(crate) fn lower(source: &Source) -> Unit {
    let mut unit = Builder { functions: Vec::new(), names: FxHashSet::default() };
    let scope = scope_of(source.body(), &[]);
    let whole = Span { start: 0, end: source.text.len() as u32 };
    let header =
        Header { name: "<module>", kind: FunctionKind::Module, is_method: false, decorators: Vec::new(), span: whole };
    unit.function(None, header, scope, |lowering| lowering.body(source.body()));
    Unit { functions: unit.functions.into_iter().flatten().collect() }
}

/// What a function is called and where it stands.
pub(super) struct Header<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: FunctionKind,
    pub(crate) is_method: bool,
    pub(crate) decorators: Vec<Name>,
    pub(crate) span: Span,
}

/// All functions of a file so far; one being built is `None`.
pub(super) struct Builder {
    functions: Vec<Option<Function>>,
    names: FxHashSet<Name>,
}

impl Builder {
    pub(super) fn name(&mut self, text: &str) -> Name {
        if let Some(known) = self.names.get(text) {
            return known.clone();
        }
        let name: Name = Arc::from(text);
        self.names.insert(name.clone());
        name
    }

    /// Lowers one function and gives its number.
    fn function<'t>(
        &mut self,
        outer: Option<&Lowering<'_, 't>>,
        header: Header<'_>,
        scope: Scope,
        fill: impl FnOnce(&mut Lowering<'_, 't>),
    ) -> usize {
        let number = self.functions.len();
        self.functions.push(None);
        let mut chain: Vec<ScopeInfo> = outer.map(|outer| outer.chain.clone()).unwrap_or_default();
        let has_cells =
            header.kind != FunctionKind::Module && header.kind != FunctionKind::ClassBody && !scope.captured.is_empty();
        let is_generator = scope.yields;
        chain.push(ScopeInfo { kind: header.kind, scope: Arc::new(scope) });
        let name = self.name(header.name);
        let mut lowering = Lowering {
            unit: self,
            number,
            chain,
            params: Vec::new(),
            locals: Vec::new(),
            slots: FxHashMap::default(),
            renamed: Vec::new(),
            blocks: Vec::new(),
            current: 0,
            regs: 0,
            exits: Vec::new(),
            handler: None,
            with_depth: 0,
            depth: outer.map_or(0, |outer| outer.depth),
            is_done: false,
        };
        lowering.current = lowering.block();
        fill(&mut lowering);
        let none = lowering.emit(Op::Const(super::Const::None), header.span);
        lowering.end(Term::Return(none));
        let Lowering { params, locals, blocks, regs, .. } = lowering;
        self.functions[number] = Some(Function {
            name,
            kind: header.kind,
            is_method: header.is_method,
            decorators: header.decorators,
            params,
            locals,
            has_cells,
            is_generator,
            blocks,
            regs,
            parent: outer.map(|outer| outer.number),
        });
        number
    }
}

/// A scope around what is being lowered.
#[derive(Clone)]
struct ScopeInfo {
    kind: FunctionKind,
    scope: Arc<Scope>,
}

/// What happens on the way out of a block.
#[derive(Clone, Copy)]
pub(super) enum Leave<'t> {
    /// A `with` is left.
    With,
    /// A `finally` runs.
    Finally(&'t [Stmt]),
    /// A loop: where `break` and `continue` go.
    Loop { again: BlockId, after: BlockId },
}

/// One function while it is lowered.
pub(super) struct Lowering<'a, 't> {
    pub(super) unit: &'a mut Builder,
    number: usize,
    chain: Vec<ScopeInfo>,
    params: Vec<Param>,
    locals: Vec<Name>,
    slots: FxHashMap<Name, u32>,
    /// Names that a comprehension binds for itself.
    renamed: Vec<FxHashMap<String, u32>>,
    pub(super) blocks: Vec<Block>,
    pub(super) current: BlockId,
    regs: u32,
    exits: Vec<Leave<'t>>,
    pub(super) handler: Option<BlockId>,
    pub(super) with_depth: u32,
    pub(super) depth: usize,
    /// Whether the current block has ended, so that what follows is never run.
    is_done: bool,
}

impl<'t> Lowering<'_, 't> {
    /// A new, empty block.
    pub(super) fn block(&mut self) -> BlockId {
        self.blocks.push(Block {
            insts: Vec::new(),
            term: Term::Raise,
            handler: self.handler,
            with_depth: self.with_depth,
        });
        (self.blocks.len() - 1) as BlockId
    }

    /// Ends the current block unless it has ended.
    pub(super) fn end(&mut self, term: Term) {
        if !self.is_done {
            self.blocks[self.current as usize].term = term;
            self.is_done = true;
        }
    }

    /// Goes on in a block.
    pub(super) fn at(&mut self, block: BlockId) {
        self.current = block;
        self.is_done = false;
    }

    pub(super) fn reg(&mut self) -> Reg {
        self.regs += 1;
        self.regs - 1
    }

    /// Adds an instruction; what can never run is dropped.
    pub(super) fn emit(&mut self, op: Op, span: Span) -> Reg {
        let dst = self.reg();
        if !self.is_done {
            self.blocks[self.current as usize].insts.push(Inst { dst, op, span });
        }
        dst
    }

    pub(super) fn name(&mut self, text: &str) -> Name {
        self.unit.name(text)
    }

    fn slot(&mut self, name: &str) -> u32 {
        let name = self.name(name);
        if let Some(slot) = self.slots.get(&name) {
            return *slot;
        }
        let slot = self.locals.len() as u32;
        self.locals.push(name.clone());
        self.slots.insert(name, slot);
        slot
    }

    /// A local variable that no name of the program reaches.
    pub(super) fn hidden(&mut self, name: &str) -> Var {
        let name = self.name(name);
        self.locals.push(name);
        Var::Local(self.locals.len() as u32 - 1)
    }

    /// Renames what a comprehension binds until [`Self::unrename`].
    pub(super) fn rename(&mut self, names: impl IntoIterator<Item = String>) {
        let mut renamed = FxHashMap::default();
        for text in names {
            let name = self.name(&text);
            self.locals.push(name);
            renamed.insert(text, self.locals.len() as u32 - 1);
        }
        self.renamed.push(renamed);
    }

    pub(super) fn unrename(&mut self) {
        self.renamed.pop();
    }

    /// The variable that a name means here.
    pub(super) fn var(&mut self, name: &str) -> Var {
        if let Some(slot) = self.renamed.iter().rev().find_map(|renamed| renamed.get(name)) {
            return Var::Local(*slot);
        }
        let mut functions_out = 0;
        for at in (0..self.chain.len()).rev() {
            let (kind, scope) = (self.chain[at].kind, self.chain[at].scope.clone());
            let is_own = at + 1 == self.chain.len();
            if is_own && scope.globals.contains(name) {
                break;
            }
            match kind {
                FunctionKind::Module => break,
                FunctionKind::ClassBody if is_own && scope.binds.contains(name) => {
                    return Var::ClassAttr(self.name(name));
                }
                FunctionKind::ClassBody => {}
                _ if scope.binds.contains(name) => {
                    let is_cell = scope.captured.contains(name);
                    if is_own && !is_cell {
                        return Var::Local(self.slot(name));
                    }
                    return Var::Cell(functions_out, self.name(name));
                }
                // Only functions with shared variables have a frame to step out of.
                _ if scope.captured.is_empty() => {}
                _ => functions_out += 1,
            }
        }
        Var::Global(self.name(name))
    }

    /// Whether this is the body of a class.
    pub(super) fn is_class_body(&self) -> bool {
        self.chain.last().is_some_and(|own| own.kind == FunctionKind::ClassBody)
    }

    pub(super) fn leaving<T>(&mut self, leave: Leave<'t>, inside: impl FnOnce(&mut Self) -> T) -> T {
        self.exits.push(leave);
        let result = inside(self);
        self.exits.pop();
        result
    }

    /// Runs what `return` has to run on its way out.
    pub(super) fn leave_all(&mut self, span: Span) {
        self.leave_down_to(0, span);
    }

    /// Goes to the innermost loop's end or head.
    pub(super) fn leave_loop(&mut self, is_break: bool, span: Span) {
        let found = self.exits.iter().rposition(|leave| matches!(leave, Leave::Loop { .. }));
        let Some(at) = found else { return self.end(Term::Raise) };
        let Leave::Loop { again, after } = self.exits[at] else { return };
        self.leave_down_to(at + 1, span);
        self.end(Term::Goto(if is_break { after } else { again }));
    }

    fn leave_down_to(&mut self, keep: usize, span: Span) {
        let leaving: Vec<Leave<'t>> = self.exits.split_off(keep);
        let kept_depth = self.with_depth;
        let finals = leaving.iter().filter(|leave| matches!(leave, Leave::Finally(_))).count();
        for at in (0..leaving.len()).rev() {
            match leaving[at] {
                Leave::With => {
                    self.emit(Op::Exit, span);
                    self.with_depth -= 1;
                }
                Leave::Finally(body) if finals <= FINALLY_COPIES_MAX => {
                    self.exits.extend_from_slice(&leaving[..at]);
                    self.body(body);
                    self.exits.truncate(keep);
                }
                Leave::Finally(_) | Leave::Loop { .. } => {}
            }
        }
        self.with_depth = kept_depth;
        self.exits.extend(leaving);
    }

    /// Lowers a function or lambda inside this one and gives its number.
    pub(super) fn nested(
        &mut self,
        header: Header<'_>,
        parameters: Option<&'t tree::Parameters>,
        scope: Scope,
        fill: impl FnOnce(&mut Lowering<'_, 't>),
    ) -> usize {
        // The builder is lent to the inner function while this one waits.
        let mut unit = Builder {
            functions: std::mem::take(&mut self.unit.functions),
            names: std::mem::take(&mut self.unit.names),
        };
        let number = unit.function(Some(&*self), header, scope, |inner| {
            if let Some(parameters) = parameters {
                inner.parameters(parameters);
            }
            fill(inner);
        });
        *self.unit = unit;
        number
    }

    fn parameters(&mut self, parameters: &tree::Parameters) {
        let mut defaults = 0;
        let plain = parameters.posonlyargs.iter().chain(&parameters.args).map(|given| (given, ParamKind::Plain));
        let named = parameters.kwonlyargs.iter().map(|given| (given, ParamKind::KeywordOnly));
        for (given, kind) in plain.chain(named) {
            let default = given.default().is_some().then_some(defaults);
            defaults += usize::from(default.is_some());
            self.parameter(&given.parameter, kind, default);
        }
        for (given, kind) in [(&parameters.vararg, ParamKind::Rest), (&parameters.kwarg, ParamKind::Keywords)] {
            if let Some(given) = given {
                self.parameter(given, kind, None);
            }
        }
    }

    fn parameter(&mut self, parameter: &tree::Parameter, kind: ParamKind, default: Option<usize>) {
        let var = self.var(&parameter.name);
        let name = self.name(&parameter.name);
        let annotation = parameter.annotation().and_then(last_word);
        let annotation = annotation.map(|word| self.name(&word));
        self.params.push(Param { name, var, kind, annotation, default });
    }
}

/// Names of parameters, for the scope.
pub(super) fn parameter_names(parameters: &tree::Parameters) -> Vec<String> {
    parameters.iter().map(|parameter| parameter.name().to_string()).collect()
}

/// The scope of a `def`.
pub(super) fn def_scope(def: &tree::StmtFunctionDef) -> Scope {
    scope_of(&def.body, &parameter_names(&def.parameters))
}

/// The scope of a class body.
pub(super) fn class_scope(def: &tree::StmtClassDef) -> Scope {
    scope_of(&def.body, &[])
}

/// The scope of a lambda.
pub(super) fn lambda_scope(lambda: &tree::ExprLambda) -> Scope {
    let names = lambda.parameters.as_deref().map(parameter_names).unwrap_or_default();
    scope_of_lambda(&lambda.body, &names)
}

/// `Tensor` of `torch.Tensor`, of `"torch.Tensor"` and of `Optional[torch.Tensor]`.
fn last_word(annotation: &Expr) -> Option<String> {
    match annotation {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(attribute) => Some(attribute.attr.to_string()),
        Expr::StringLiteral(text) => text.value.to_str().rsplit('.').next().map(str::to_owned),
        Expr::Subscript(subscript) if last_word(&subscript.value).is_some_and(|word| word == "Optional") => {
            last_word(&subscript.slice)
        }
        Expr::BinOp(either) => last_word(&either.left),
        _ => None,
    }
}

/// `a.b.c` of a name, an attribute, or a call of one.
pub(super) fn dotted(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(attribute) => Some(format!("{}.{}", dotted(&attribute.value)?, attribute.attr)),
        Expr::Call(call) => dotted(&call.func),
        _ => None,
    }
}

/// The span of a node.
pub(super) fn span_of(node: &impl Ranged) -> Span {
    Span::from(node.range())
}
