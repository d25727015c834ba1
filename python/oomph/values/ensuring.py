"""What a script makes sure of: the answer to a question with which it goes on, where the other one raises.

An assertion holds in a program that works. So a question that is asked for one (`assert (x >= 0).all()`), or for a branch that
does nothing but raise (`if not mask.any(): raise ...`), has the answer that does not raise, whatever the values are.
"""

from __future__ import annotations

import ast
import functools
import sys
from types import CodeType

from .steering import body_of, expressions, holder_of, reading

#: What turns an answer into another kind of the same answer.
_SAME = frozenset("bool item cpu".split())


def answer() -> bool | None:
    """What the call that the script makes now must return for the script to go on; None where either will do."""
    frame = reading(sys._getframe())
    if frame is None:
        return None
    return _answer(holder_of(frame).f_code, frame.f_code, frame.f_lasti)


@functools.cache
def _answer(of: CodeType, code: CodeType, at: int) -> bool | None:
    body = body_of(of)
    # Where Python does not say which expression it is, there may be several.
    found = list(expressions(body, code, at)) if body is not None else []
    return _wanted(found[0]) if len(found) == 1 else None


def _wanted(node: ast.AST) -> bool | None:
    """What an expression must be for the statement around it not to raise."""
    is_wanted = True
    while (parent := getattr(node, "parent", None)) is not None:
        if isinstance(parent, ast.Assert) and node is parent.test:
            return is_wanted
        if isinstance(parent, ast.If) and node is parent.test:
            if _only_raises(parent.body):
                return not is_wanted
            return is_wanted if _only_raises(parent.orelse) else None
        if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
            is_wanted = not is_wanted
        elif not (isinstance(parent, ast.BoolOp) or _is_same(node, parent)):
            return None
        node = parent
    return None


def _is_same(node: ast.AST, parent: ast.AST) -> bool:
    if isinstance(parent, ast.Attribute):
        return parent.attr in _SAME
    if not isinstance(parent, ast.Call):
        return False
    if node is parent.func:
        # The attribute before it was one of these.
        return True
    return isinstance(parent.func, ast.Name) and parent.func.id in _SAME and parent.args == [node]


def _only_raises(body: list[ast.stmt]) -> bool:
    """Whether a branch raises, and does nothing before that but say so."""
    return bool(body) and isinstance(body[-1], ast.Raise) and all(isinstance(said, ast.Expr) for said in body[:-1])
