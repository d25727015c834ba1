"""Ways to write the statements and loops of a program so that it does the same."""

from __future__ import annotations

import ast
from copy import deepcopy
from typing import Any

NEXT_NAMES = {"model": "network", "loader": "data", "optimizer": "solver", "criterion": "measure", "out": "answer"}


def name_of(node: ast.expr) -> str:
    """The plain name of an expression, if it is one."""
    return node.id if isinstance(node, ast.Name) else ""


def is_call_of(node: ast.expr, *names: str) -> bool:
    """Whether it calls one of these by its plain name."""
    return isinstance(node, ast.Call) and name_of(node.func) in names


def load(name: str) -> ast.Name:
    """A read of a name."""
    return ast.Name(name, ast.Load())


def store(name: str) -> ast.Name:
    """A name that is bound."""
    return ast.Name(name, ast.Store())


def after_imports(tree: ast.Module, code: str) -> None:
    """Puts statements behind the docstring and the imports that begin a module."""
    places = (ast.Import, ast.ImportFrom, ast.Expr)
    at = next((i for i, stmt in enumerate(tree.body) if not isinstance(stmt, places)), len(tree.body))
    tree.body[at:at] = ast.parse(code).body


class Rewrite(ast.NodeTransformer):
    """One way of writing the same thing; `needs` is what the module must define for it."""

    needs = ""

    def __init__(self) -> None:
        self.count = 0

    def fresh(self, word: str) -> str:
        """A name that nothing else has."""
        self.count += 1
        return f"{word}_{self.count}"

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Rewrites all of it, and defines what that needs."""
        before = ast.dump(node)
        self.generic_visit(node)
        if self.needs and ast.dump(node) != before:
            after_imports(node, self.needs)
        return node


class AsIs(Rewrite):
    """The program as it is, printed anew."""


class NamedParts(Rewrite):
    """`x = f(g(y))` in two statements."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Takes the arguments that are computed out of the statements of each suite."""
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody"):
            suite = getattr(node, field, None)
            if isinstance(suite, list) and suite and isinstance(suite[0], ast.stmt):
                setattr(node, field, [part for stmt in suite for part in self.taken_apart(stmt)])
        return node

    def taken_apart(self, stmt: ast.stmt) -> list[ast.stmt]:
        """A statement, and before it what its call is given."""
        before: list[ast.stmt] = []
        if isinstance(stmt, ast.Assign | ast.Expr) and isinstance(stmt.value, ast.Call):
            for i, arg in enumerate(stmt.value.args):
                if isinstance(arg, ast.Call | ast.BinOp):
                    name = self.fresh("part")
                    before.append(ast.Assign([store(name)], arg))
                    stmt.value.args[i] = load(name)
        return [*before, stmt]


class LoopRewrite(Rewrite):
    """A way to write loops over something else than a range."""

    def visit_For(self, node: ast.For) -> Any:
        """Rewrites loops from the inside out."""
        self.generic_visit(node)
        return node if is_call_of(node.iter, "range") else self.rewritten(node)

    def rewritten(self, node: ast.For) -> Any:
        """The loop in other words."""
        raise NotImplementedError


class Enumerated(LoopRewrite):
    """`for i, x in enumerate(xs, start=1)`."""

    def rewritten(self, node: ast.For) -> ast.For:
        """Counts the turns."""
        if not is_call_of(node.iter, "enumerate"):
            node.target = ast.Tuple([store(self.fresh("turn")), node.target], ast.Store())
            node.iter = ast.Call(load("enumerate"), [node.iter], [ast.keyword("start", ast.Constant(1))])
        return node


class Progress(LoopRewrite):
    """`for x in tqdm(xs)`."""

    needs = "import tqdm as progress"

    def rewritten(self, node: ast.For) -> ast.For:
        """Shows the progress."""
        tqdm = ast.Attribute(load("progress"), "tqdm", ast.Load())
        node.iter = ast.Call(tqdm, [node.iter], [ast.keyword("leave", ast.Constant(False))])
        return node


class NamedProgress(Progress):
    """`bar = tqdm(xs)`, then `for x in bar`."""

    def rewritten(self, node: ast.For) -> Any:
        """Gives the bar a name."""
        name = self.fresh("bar")
        bar = ast.Assign([store(name)], super().rewritten(node).iter)
        node.iter = load(name)
        return [bar, node]


class Generated(LoopRewrite):
    """A generator between the loop and what it goes over."""

    needs = "def one_by_one(items):\n    for item in items:\n        yield item\n"

    def rewritten(self, node: ast.For) -> ast.For:
        """Goes over what the generator yields."""
        node.iter = ast.Call(load("one_by_one"), [node.iter], [])
        return node


class Unpacked(LoopRewrite):
    """`for item in xs: a, b = item`."""

    def rewritten(self, node: ast.For) -> ast.For:
        """Unpacks in the body."""
        if isinstance(node.target, ast.Tuple):
            node.body.insert(0, ast.Assign([node.target], load("this_item")))
            node.target = store("this_item")
        return node


class Taken(LoopRewrite):
    """`while True` with `next(...)` and `StopIteration`."""

    def rewritten(self, node: ast.For) -> Any:
        """Takes the items by hand."""
        if node.orelse:
            return node
        name = self.fresh("source")
        taken = ast.Assign([node.target], ast.Call(load("next"), [load(name)], []))
        ends = ast.ExceptHandler(load("StopIteration"), None, [ast.Break()])
        begin = ast.Assign([store(name)], ast.Call(load("iter"), [node.iter], []))
        return [begin, ast.While(ast.Constant(True), [ast.Try([taken], [ends], [], []), *node.body], [])]


class Guarded(LoopRewrite):
    """The body of a loop in a `try` that lets everything through."""

    def rewritten(self, node: ast.For) -> ast.For:
        """Catches an interrupt, and raises it again."""
        handler = ast.ExceptHandler(load("KeyboardInterrupt"), None, [ast.Raise()])
        node.body = [ast.Try(node.body, [handler], [], [])]
        return node


class InContext(LoopRewrite):
    """The body of a loop in a context that does nothing."""

    needs = "import contextlib"

    def rewritten(self, node: ast.For) -> ast.For:
        """Enters `nullcontext`."""
        context = ast.Call(ast.Attribute(load("contextlib"), "nullcontext", ast.Load()), [], [])
        node.body = [ast.With([ast.withitem(context)], node.body)]
        return node


class Annotated(Rewrite):
    """`x: object = ...`."""

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """Annotates what is bound to one name."""
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            return ast.AnnAssign(node.targets[0], load("object"), node.value, 1)
        return node


class OtherAlias(Rewrite):
    """`import torch as th`."""

    def visit_Import(self, node: ast.Import) -> ast.Import:
        """Imports torch by another name."""
        for alias in node.names:
            if alias.name == "torch" and not alias.asname:
                alias.asname = "th"
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Reads it by that name."""
        node.id = "th" if node.id == "torch" else node.id
        return node


class SumWritten(Rewrite):
    """`x = x + y` for `x += y`."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        """Writes the sum out."""
        if not isinstance(node.op, ast.Add) or isinstance(node.target, ast.Subscript):
            return node
        value = deepcopy(node.target)
        value.ctx = ast.Load()
        return ast.Assign([node.target], self.sum_of(value, node.value))

    def sum_of(self, total: ast.expr, added: ast.expr) -> ast.BinOp:
        """The sum, in its usual order."""
        return ast.BinOp(total, ast.Add(), added)


class SumTurned(SumWritten):
    """`x = y + x` for `x += y`."""

    def sum_of(self, total: ast.expr, added: ast.expr) -> ast.BinOp:
        """The sum, in the other order."""
        return ast.BinOp(added, ast.Add(), total)


class AppendRewrite(Rewrite):
    """A way to write `kept.append(x)`."""

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """Rewrites calls of `append`."""
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append":
            return self.appended(node, call.func.value, call.args[0])
        return node

    def appended(self, node: ast.Expr, holder: ast.expr, item: ast.expr) -> ast.stmt:
        """The same in other words."""
        raise NotImplementedError


class ListAdded(AppendRewrite):
    """`kept += [x]`."""

    def appended(self, node: ast.Expr, holder: ast.expr, item: ast.expr) -> ast.stmt:
        """Adds a list of one."""
        if not isinstance(holder, ast.Name | ast.Attribute):
            return node
        holder.ctx = ast.Store()
        return ast.AugAssign(holder, ast.Add(), ast.List([item], ast.Load()))


class AppendHelper(AppendRewrite):
    """A function that appends."""

    needs = "def put_into(holder, item):\n    holder.append(item)\n"

    def appended(self, node: ast.Expr, holder: ast.expr, item: ast.expr) -> ast.stmt:
        """Calls it."""
        return ast.Expr(ast.Call(load("put_into"), [holder, item], []))


class Recorded(AppendRewrite):
    """A record of what is kept: `kept.append({"value": x, "at": 0})`."""

    def appended(self, node: ast.Expr, holder: ast.expr, item: ast.expr) -> ast.stmt:
        """Appends the record."""
        call = node.value
        assert isinstance(call, ast.Call)
        if not isinstance(item, ast.Dict | ast.Tuple):
            keys: list[ast.expr | None] = [ast.Constant("value"), ast.Constant("at")]
            call.args[0] = ast.Dict(keys, [item, ast.Constant(0)])
        return node


class Renamed(Rewrite):
    """Other names for models, loaders, optimizers, losses and outputs."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Renames reads and bindings."""
        node.id = NEXT_NAMES.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """Renames parameters."""
        node.arg = NEXT_NAMES.get(node.arg, node.arg)
        return node
