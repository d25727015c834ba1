"""Questions about statements of a script."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def is_backward(node: ast.AST) -> bool:
    """Whether this is a call of a method `backward`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "backward"


def is_read(node: ast.AST) -> bool:
    """Whether this reads a variable."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)


def within(node: ast.AST) -> Iterator[ast.AST]:
    """Everything inside, but not what other functions do."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, _SCOPES):
            yield from within(child)


def calls_backward(node: ast.AST) -> bool:
    """Whether running this calls a method `backward`."""
    return not isinstance(node, _SCOPES) and any(is_backward(part) for part in within(node))


def stored(node: ast.AST) -> set[str]:
    """The variables that this sets."""
    return {part.id for part in within(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def makes(statement: ast.stmt) -> bool:
    """Whether this is an assignment of something new."""
    known = (ast.Name, ast.Attribute, ast.Subscript)
    return isinstance(statement, ast.Assign) and not isinstance(statement.value, known)


def bound_inside(node: ast.AST) -> set[str]:
    """Variables of comprehensions and lambdas, and what `:=` sets."""
    inner = {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
    for part in ast.walk(node):
        if isinstance(part, (ast.comprehension, ast.NamedExpr)):
            inner |= stored(part.target)
    return inner


def root_of(node: ast.AST) -> str | None:
    """The variable at the beginning of `a.b[c].d`."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def ends_the_program(body: Sequence[ast.stmt]) -> bool:
    """Whether these statements end with an error or an exit."""
    last = body[-1]
    called = last.value.func if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)
    return isinstance(last, ast.Raise) or name in ("exit", "quit", "_exit")
