"""Ways to write a program's functions, state and calls so that it does the same."""

from __future__ import annotations

import ast
import builtins
from copy import deepcopy
from typing import Any

from ways import LoopRewrite, Rewrite, after_imports, is_call_of, load, name_of, store

MEASURES = ("criterion", "loss_fn", "crit", "loss_function", "ce", "mse")
LEAVES = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.Await, ast.FunctionDef, ast.For, ast.While)


def names_in(nodes: list[ast.stmt], context: type[ast.expr_context]) -> list[str]:
    """The names that are read or bound in statements, each once."""
    parts = (part for node in nodes for part in ast.walk(node))
    return list(dict.fromkeys(part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, context)))


def without(body: list[ast.stmt], left_out: ast.stmt) -> list[ast.stmt]:
    """A scope with one loop made empty."""
    copy = ast.Module(body, [])
    kept = left_out.body  # type: ignore[attr-defined]
    left_out.body = [ast.Pass()]  # type: ignore[attr-defined]
    result = deepcopy(copy).body
    left_out.body = kept  # type: ignore[attr-defined]
    return result


class StepRewrite(LoopRewrite):
    """The body of a loop as a function that is called on every turn."""

    def __init__(self) -> None:
        super().__init__()
        self.scopes: list[ast.Module | ast.FunctionDef] = []
        self.made: list[ast.stmt] = []

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Knows what is around each loop."""
        self.scopes.append(node)
        self.generic_visit(node)
        places = (ast.Import, ast.ImportFrom, ast.Expr)
        at = next((i for i, stmt in enumerate(node.body) if not isinstance(stmt, places)), len(node.body))
        node.body[at:at] = self.made
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """The same of functions."""
        self.scopes.append(node)
        self.generic_visit(node)
        self.scopes.pop()
        return node

    def rewritten(self, node: ast.For) -> Any:
        """Takes the body out where it leaves the loop nowhere."""
        inner = [part for stmt in node.body for part in ast.walk(stmt)]
        if any(isinstance(part, LEAVES) for part in inner):
            return node
        scope = self.scopes[-1]
        around = without(scope.body, node)
        own = [arg.arg for arg in scope.args.args] if isinstance(scope, ast.FunctionDef) else []
        outside = {*own, *names_in(around, ast.Store), *names_in(around, ast.Load)}
        kept = [name for name in names_in(node.body, ast.Store) if name in outside]
        return self.with_step(node, kept, [*own, *names_in(around, ast.Store)])

    def with_step(self, node: ast.For, kept: list[str], known: list[str]) -> Any:
        """The loop, and its step; `kept` is bound by the step and read elsewhere, `known` is bound elsewhere."""
        raise NotImplementedError


def function_of(name: str, parameters: list[str], body: list[ast.stmt]) -> ast.FunctionDef:
    """A function with plain parameters."""
    given = ast.arguments([], [ast.arg(item) for item in parameters], None, [], [], None, [])
    return ast.FunctionDef(name, given, body, [], None)


class NestedStep(StepRewrite):
    """The body of a loop as a nested function."""

    def with_step(self, node: ast.For, kept: list[str], known: list[str]) -> Any:
        """Defines it in front of the loop."""
        name = self.fresh("one_turn")
        given = names_in([ast.Expr(node.target)], ast.Store)
        shared = [item for item in kept if item not in given]
        declare = ast.Global if isinstance(self.scopes[-1], ast.Module) else ast.Nonlocal
        body = [*([declare(shared)] if shared else []), *node.body]
        node.body = [ast.Expr(ast.Call(load(name), [load(item) for item in given], []))]
        return [function_of(name, given, body), node]


class CalledStep(StepRewrite):
    """The body of a loop as a function of the module that is given everything and gives back what it binds."""

    def with_step(self, node: ast.For, kept: list[str], known: list[str]) -> Any:
        """Defines it at the top."""
        name = self.fresh("one_turn")
        target = names_in([ast.Expr(node.target)], ast.Store)
        read = {*names_in(node.body, ast.Load), *(item for item in kept if item in known)}
        module = self.scopes[0]
        fixed = {stmt.name for stmt in module.body if isinstance(stmt, ast.FunctionDef | ast.ClassDef)}
        given = [item for item in dict.fromkeys([*target, *known]) if item in read and item not in fixed]
        given = [item for item in given if not hasattr(builtins, item)]
        result = ast.Tuple([load(item) for item in kept], ast.Load()) if len(kept) > 1 else None
        result_one: ast.expr | None = result or (load(kept[0]) if kept else None)
        body = [*node.body, *([ast.Return(result_one)] if result_one else [])]
        self.made.append(self.defined(function_of(name, given, body)))
        call = ast.Call(self.named(name), [load(item) for item in given], [])
        targets: ast.expr = ast.Tuple([store(item) for item in kept], ast.Store()) if len(kept) > 1 else store("_")
        if len(kept) == 1:
            targets = store(kept[0])
        node.body = [ast.Assign([targets], call) if kept else ast.Expr(call)]
        return node

    def defined(self, function: ast.FunctionDef) -> ast.stmt:
        """The definition."""
        return function

    def named(self, name: str) -> ast.expr:
        """What is called."""
        return load(name)


class MethodStep(CalledStep):
    """The same as a method of a small class."""

    def defined(self, function: ast.FunctionDef) -> ast.stmt:
        """Puts it into a class of its own."""
        name = function.name
        function.name = "run"
        function.args.args.insert(0, ast.arg("self"))
        return ast.ClassDef(name.title().replace("_", ""), [], [], [function], [])

    def named(self, name: str) -> ast.expr:
        """Makes one, and calls it."""
        made = ast.Call(load(name.title().replace("_", "")), [], [])
        return ast.Attribute(made, "run", ast.Load())


class StateInSpace(Rewrite):
    """The variables of a script as attributes of one object."""

    begin = "import types\nctx = types.SimpleNamespace()"

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Rewrites scripts without functions."""
        if any(isinstance(stmt, ast.FunctionDef | ast.ClassDef) for stmt in node.body):
            return node
        inner = (ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp, ast.Lambda)
        parts = [part for stmt in node.body for part in ast.walk(stmt)]
        scoped = [ast.Expr(part) for part in parts if isinstance(part, inner)]
        caught = {part.name for part in parts if isinstance(part, ast.ExceptHandler)}
        self.names = {*names_in(node.body, ast.Store)} - {*names_in(list(scoped), ast.Store)} - caught
        self.generic_visit(node)
        after_imports(node, self.begin)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Names an attribute."""
        return self.place(node) if node.id in self.names else node

    def place(self, node: ast.Name) -> ast.expr:
        """Where the variable is now."""
        return ast.Attribute(load("ctx"), node.id, node.ctx)


class StateInDict(StateInSpace):
    """The same in a dict."""

    begin = "ctx = {}"

    def place(self, node: ast.Name) -> ast.expr:
        """An entry."""
        return ast.Subscript(load("ctx"), ast.Constant(node.id), node.ctx)


class OverIter(LoopRewrite):
    """`for x in iter(xs)`."""

    def rewritten(self, node: ast.For) -> ast.For:
        """Goes over an iterator."""
        if not is_call_of(node.iter, "iter", "enumerate", "zip"):
            node.iter = ast.Call(load("iter"), [node.iter], [])
        return node


class Skipping(LoopRewrite):
    """A turn that may be skipped at its start."""

    needs = "import os\ndef unwanted():\n    return os.path.exists('skip')\n"

    def rewritten(self, node: ast.For) -> ast.For:
        """Goes on to the next one now and then."""
        node.body.insert(0, ast.If(ast.Call(load("unwanted"), [], []), [ast.Continue()], []))
        return node


class Matched(LoopRewrite):
    """The body of a loop in a `match` with one case."""

    def rewritten(self, node: ast.For) -> ast.For:
        """Matches anything."""
        node.body = [ast.Match(ast.Constant(0), [ast.match_case(ast.MatchAs(None, None), None, node.body)])]
        return node


class InFinally(LoopRewrite):
    """The body of a loop in a `try` with a `finally`."""

    def rewritten(self, node: ast.For) -> ast.For:
        """Counts the turns at last."""
        said = ast.Expr(ast.Call(load("print"), [ast.Constant("done")], []))
        node.body = [ast.Try(node.body, [], [], [said])]
        return node


class BothArms(LoopRewrite):
    """The body of a loop in both arms of an `if`."""

    needs = "import os\ndef verbose():\n    return os.path.exists('verbose')\n"

    def rewritten(self, node: ast.For) -> ast.For:
        """Says something in one of them."""
        said = ast.Expr(ast.Call(load("print"), [ast.Constant("turn")], []))
        other = [deepcopy(stmt) for stmt in node.body]
        node.body = [ast.If(ast.Call(load("verbose"), [], []), [said, *node.body], other)]
        return node


class Walrus(Rewrite):
    """`(x := f(y))` as a statement."""

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """Binds within an expression."""
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Call):
            return ast.Expr(ast.NamedExpr(node.targets[0], node.value))
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Fields stay as they are."""
        for stmt in node.body:
            if isinstance(stmt, ast.FunctionDef):
                self.visit(stmt)
        return node


class NestedUnpacked(Rewrite):
    """`x, (unused, _) = f(y), (0, 1)`."""

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """Unpacks more than there was."""
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Call):
            rest = ast.Tuple([store("unused"), store("_")], ast.Store())
            more = ast.Tuple([ast.Constant(0), ast.Constant(1)], ast.Load())
            node.targets = [ast.Tuple([node.targets[0], rest], ast.Store())]
            node.value = ast.Tuple([node.value, more], ast.Load())
        return node


class StarUnpacked(LoopRewrite):
    """`for x, *rest in xs: y = rest[0]`."""

    def rewritten(self, node: ast.For) -> ast.For:
        """Takes the second item out of the rest."""
        target = node.target
        plain = isinstance(target, ast.Tuple) and len(target.elts) == 2 and name_of(target.elts[1])
        if isinstance(target, ast.Tuple) and plain and not is_call_of(node.iter, "enumerate", "zip"):
            name = self.fresh("rest")
            first = ast.Subscript(load(name), ast.Constant(0), ast.Load())
            node.body.insert(0, ast.Assign([target.elts[1]], first))
            target.elts[1] = ast.Starred(store(name), ast.Store())
        return node


class Partial(Rewrite):
    """`functools.partial(criterion)(out, y)`."""

    needs = "import functools"

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Wraps what measures."""
        self.generic_visit(node)
        if name_of(node.func) in MEASURES:
            node.func = ast.Call(ast.Attribute(load("functools"), "partial", ast.Load()), [node.func], [])
        return node


class ByKeyword(Rewrite):
    """`criterion(input=out, target=y)`."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Names the arguments."""
        self.generic_visit(node)
        if name_of(node.func) in MEASURES and len(node.args) == 2 and not node.keywords:
            node.keywords = [ast.keyword("input", node.args[0]), ast.keyword("target", node.args[1])]
            node.args = []
        return node


class ByGetattr(Rewrite):
    """`getattr(self, "model")(x)`."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Finds what is called by its name."""
        self.generic_visit(node)
        func = node.func
        if isinstance(func, ast.Attribute) and name_of(func.value) == "self" and func.attr in ("model", "net", "encoder"):
            node.func = ast.Call(load("getattr"), [func.value, ast.Constant(func.attr)], [])
        return node
