"""Compiles a source file so that its loops can be watched: pure, from text to a code object.

Every `for` asks `__oomph_loop__` for its iterator, every `while` asks what `__oomph_enter__` gave it after its own
condition, and the branches of an `if` that only some iterations take say when they are taken. Positions stay as they
are, so tracebacks, warnings and debuggers show the user's own lines; nothing else changes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Protocol, TypeVar

from .conditions import Formulas, condition_of, formulas_of
from .distant import Distant
from .sites import Branch, Site

_Node = TypeVar("_Node", bound=ast.AST)

LOOP = "__oomph_loop__"
ENTER = "__oomph_enter__"
TAKEN = "__oomph_taken__"
ASKED = "__oomph_asked__"

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SCOPES = (*_FUNCTIONS, ast.ClassDef)
_SUSPENDING = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
#: Decorators of compilers that read bytecode and know no function of ours.
_COMPILERS = {"jit", "njit", "vectorize", "guvectorize", "stencil", "cfunc"}
#: Methods by which a loop hands its results on.
_COLLECTING = {"append", "appendleft", "extend", "add", "push", "put", "store", "insert", "update"}


class Numbering(Protocol):
    """Gives loops and branches the numbers by which the compiled code names them."""

    def add_site(self, site: Site) -> int:
        """The number of a loop."""

    def add_branch(self, branch: Branch) -> int:
        """The number of a branch."""


def compiled(
    source: bytes | str, path: str, numbering: Numbering, complete: Callable[[Site], None] = lambda _site: None
) -> CodeType:
    """The code of a file. `complete` may add to what is known of each loop. Raises what `compile` raises."""
    tree = compile(source, path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    rewriter = _Rewriter(path, numbering, complete, formulas_of(tree))
    return compile(rewriter.visit(tree), path, "exec", dont_inherit=True)


class _Rewriter(ast.NodeTransformer):
    """Goes through one file."""

    def __init__(
        self, path: str, numbering: Numbering, complete: Callable[[Site], None], formulas: Formulas
    ) -> None:
        self.path = path
        self.formulas = formulas
        self.numbering = numbering
        self.complete = complete
        self.function = "<module>"
        #: The branches of the loops that were visited last, inside of the present one.
        self.inner_branches: list[Branch] = []
        #: Names that the loops around change.
        self.changing: frozenset[str] = frozenset()

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        # Loops in a forward pass are part of one iteration, never iterations themselves.
        if node.name == "forward" or any(_last_name(decorator) in _COMPILERS for decorator in node.decorator_list):
            return node
        outer = self.function, self.inner_branches, self.changing
        self.function, self.inner_branches, self.changing = node.name, [], frozenset()
        _Distant(self.numbering, self.formulas).look(node.body, [])
        self.generic_visit(node)
        self.function, self.inner_branches, self.changing = outer
        return node

    visit_FunctionDef = _visit_function
    visit_AsyncFunctionDef = _visit_function

    def visit_For(self, node: ast.For) -> ast.AST:
        if _suspends(node.body):
            # Who consumes the generator decides how long this goes on.
            return self.generic_visit(node)
        first = node.target.elts[0] if isinstance(node.target, (ast.Tuple, ast.List)) and node.target.elts else None
        index = first or node.target
        site = self._site(node, "for")
        site.index = ast.unparse(index) if isinstance(index, (ast.Name, ast.Attribute)) else None
        site.is_index_first = first is not None
        number = self._known(site, node)
        self._visit_inside(site, node)
        node.iter = _call(LOOP, [node.iter, ast.Constant(number)], node.iter)
        return node

    def visit_While(self, node: ast.While) -> ast.AST | list[ast.stmt]:
        if _suspends(node.body) or _suspends([node.test]):
            return self.generic_visit(node)
        site = self._site(node, "while")
        site.condition = condition_of([(node.test, True)], self.formulas)
        number = self._known(site, node)
        self._visit_inside(site, node)
        name = f"__oomph_while_{number}__"
        enter = ast.Assign([ast.Name(name, ast.Store())], _call(ENTER, [ast.Constant(number)], node.test))
        ask = ast.Call(ast.Name(name, ast.Load()), [], [])
        if node.orelse:
            is_plain = ast.Compare(ast.Name(name, ast.Load()), [ast.Is()], [ast.Constant(None)])
            more = ast.BoolOp(ast.Or(), [is_plain, ask])
            node.test = _located(ast.BoolOp(ast.And(), [node.test, more]), node.test)
        else:
            # Conditions that depend on tensors are compiled as ever only if they stay as they are.
            is_watched = ast.Compare(ast.Name(name, ast.Load()), [ast.IsNot()], [ast.Constant(None)])
            is_over = ast.BoolOp(ast.And(), [is_watched, ast.UnaryOp(ast.Not(), ask)])
            node.body.insert(0, _located(ast.If(is_over, [ast.Break()], []), node.test))
        leave = ast.Delete([ast.Name(name, ast.Del())])
        return [_located(enter, node), _located(node, node), _located(leave, node)]

    def _visit_comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp) -> ast.AST:
        is_plain = not any(isinstance(part, (ast.Call, ast.BinOp)) for part in ast.walk(node))
        if is_plain or _suspends([node]) or any(part.is_async for part in node.generators):
            return self.generic_visit(node)
        site = self._site(node, "comprehension")
        site.collects = True
        self.complete(site)
        number = self.numbering.add_site(site)
        self.generic_visit(node)
        # The outermost: what is inside of it is one of its iterations.
        outermost = node.generators[0]
        outermost.iter = _call(LOOP, [outermost.iter, ast.Constant(number)], outermost.iter)
        return node

    visit_ListComp = _visit_comprehension
    visit_SetComp = _visit_comprehension
    visit_DictComp = _visit_comprehension

    def _visit_inside(self, site: Site, node: ast.For | ast.While) -> None:
        """What is inside; the outer loops may have to wait for its branches."""
        outer, changing = self.inner_branches, self.changing
        self.inner_branches, self.changing = [], changing | _changing(node)
        self.generic_visit(node)
        site.inner_branches = self.inner_branches
        self.inner_branches, self.changing = [*outer, *site.inner_branches, *site.branches], changing

    def _site(self, node: ast.stmt | ast.expr, statement: str) -> Site:
        return Site(self.path, node.lineno, self.function, statement)

    def _known(self, site: Site, node: ast.For | ast.While) -> int:
        """Looks at the body while it is still as it was written."""
        site.collects = any(_collects(part) for part in _within(node.body))
        finder = _Branches(self.changing | _changing(node), self.numbering, self.formulas)
        finder.look(node.body, [])
        site.branches = finder.found
        self.complete(site)
        return self.numbering.add_site(site)


class _Branches:
    """Finds the branches of a loop's body that depend on what counts, and makes them say when they are taken."""

    def __init__(self, changing: frozenset[str], numbering: Numbering, formulas: Formulas) -> None:
        self.changing = changing
        self.formulas = formulas
        self.numbering = numbering
        self.found: list[Branch] = []

    def look(self, body: list[ast.stmt], path: list[tuple[ast.expr, bool]]) -> None:
        """Goes through statements that are reached when everything on the path holds."""
        for statement in list(body):
            if isinstance(statement, ast.If):
                self._look_at_if(statement, body, path)
            elif not isinstance(statement, (ast.For, ast.AsyncFor, ast.While, *_SCOPES)):
                for part in _bodies(statement):
                    self.look(part, path)

    def _look_at_if(self, node: ast.If, body: list[ast.stmt], path: list[tuple[ast.expr, bool]]) -> None:
        taken, passed = [*path, (node.test, False)], [*path, (node.test, True)]
        is_counting = self._counts(node.test)
        is_skipping = isinstance(node.body[-1], ast.Continue)
        rest = body[body.index(node) + 1 :]
        self.look(node.body, taken)
        if is_counting and not is_skipping:
            self._add(node.body, node.body, taken)
        is_elif = len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)
        self.look(node.orelse, passed)
        if is_counting and node.orelse and not is_elif:
            self._add(node.orelse, node.orelse, passed)
        if is_counting and is_skipping and rest and not node.orelse:
            self._add(body, rest, passed, before=rest[0])

    def _add(
        self,
        body: list[ast.stmt],
        does: Sequence[ast.stmt],
        path: list[tuple[ast.expr, bool]],
        before: ast.stmt | None = None,
    ) -> None:
        effect = _effect(does)
        condition = condition_of(path, self.formulas) if effect else None
        if condition is None or effect is None:
            return
        branch = Branch(condition, effect)
        self.found.append(branch)
        mark = ast.Expr(_call(TAKEN, [ast.Constant(self.numbering.add_branch(branch))], does[0]))
        body.insert(body.index(before) if before else 0, _located(mark, does[0]))

    def _counts(self, test: ast.expr) -> bool:
        """Whether the test computes with something that iterations may change."""
        computes = any(self._computes(part) for part in ast.walk(test))
        return computes and any(
            isinstance(part, (ast.Attribute, ast.Subscript))
            or (isinstance(part, ast.Name) and part.id in self.changing)
            or (isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "len")
            for part in ast.walk(test)
        )

    def _computes(self, node: ast.AST) -> bool:
        """Whether this asks for a number; `is None` does not."""
        if isinstance(node, ast.Compare):
            return not all(isinstance(operator, (ast.Is, ast.IsNot)) for operator in node.ops)
        is_formula = isinstance(node, ast.Name) and node.id in self.formulas
        return is_formula or isinstance(node, ast.Mod)


class _Distant:
    """Finds the branches of a function outside its loops that come every so often, for loops that call it."""

    def __init__(self, numbering: Numbering, formulas: Formulas) -> None:
        self.numbering = numbering
        self.formulas = formulas

    def look(self, body: list[ast.stmt], path: list[tuple[ast.expr, bool]]) -> None:
        """Goes through statements that are reached when everything on the path holds."""
        for statement in list(body):
            if isinstance(statement, ast.If):
                self.look(statement.body, [*path, (statement.test, False)])
                self.look(statement.orelse, [*path, (statement.test, True)])
                self._look_at_if(statement, body, [*path, (statement.test, False)])
            elif not isinstance(statement, (ast.For, ast.AsyncFor, ast.While, *_SCOPES)):
                for part in _bodies(statement):
                    self.look(part, path)

    def _look_at_if(self, node: ast.If, body: list[ast.stmt], path: list[tuple[ast.expr, bool]]) -> None:
        parts = list(ast.walk(node.test))
        is_periodic = any(isinstance(part, ast.Mod) or getattr(part, "id", None) in self.formulas for part in parts)
        is_kept = any(isinstance(part, ast.Attribute) for part in parts)
        condition = condition_of(path, self.formulas) if is_periodic and is_kept and _effect(node.body) else None
        if condition is None:
            return
        number = ast.Constant(self.numbering.add_branch(Distant(condition, "stays")))
        body.insert(body.index(node), _located(ast.Expr(_call(ASKED, [number], node.test)), node))
        node.body.insert(0, _located(ast.Expr(_call(TAKEN, [number], node.test)), node.body[0]))


def _effect(does: Sequence[ast.stmt]) -> str | None:
    """What a branch does to its loop; None for branches that nobody has to see."""
    if all(_prints(statement) for statement in does):
        return None
    parts = list(_within(does))
    if any(isinstance(part, ast.Raise) for part in parts):
        return None
    if len(does) == 1 and isinstance(does[0], ast.Break):
        return "breaks"
    return "leaves" if any(isinstance(part, (ast.Break, ast.Return)) for part in parts) else "stays"


def _prints(statement: ast.stmt) -> bool:
    called = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(called, ast.Call) and isinstance(called.func, ast.Name) and called.func.id == "print"


def _changing(node: ast.For | ast.While) -> frozenset[str]:
    """Names to which the loop gives values."""
    parts = _within([node])
    return frozenset(part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))


def _collects(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _COLLECTING
    return isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)


def _bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The lists of statements inside `with`, `try` and `match`."""
    for name in ("body", "orelse", "finalbody"):
        part = getattr(statement, name, None)
        if isinstance(part, list):
            yield part
    for name in ("handlers", "cases"):
        for clause in getattr(statement, name, ()):
            yield clause.body


def _within(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Everything inside, but not what other functions and classes do."""
    pending = list(nodes)
    while pending:
        node = pending.pop()
        yield node
        pending += [child for child in ast.iter_child_nodes(node) if not isinstance(child, _SCOPES)]


def _suspends(nodes: Sequence[ast.AST]) -> bool:
    return any(isinstance(part, _SUSPENDING) for part in _within(nodes))


def _last_name(node: ast.expr) -> str:
    while isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _call(name: str, arguments: list[ast.expr], where: ast.AST) -> ast.Call:
    return _located(ast.Call(ast.Name(name, ast.Load()), arguments, []), where)


def _located(node: _Node, where: ast.AST) -> _Node:
    """The node and what is new in it, at the place of another."""
    return ast.fix_missing_locations(ast.copy_location(node, where))
