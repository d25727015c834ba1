"""Whether anything is decided by a value that the script reads: a branch, an index, a size.

Most reads only show a number. The code that reads is asked where its value goes: from the expression that reads it,
through names, calculations and calls, to what it ends in. A test, a comparison, an index or a slice decides; what is
printed, appended or stored away is taken to be shown. A value that is returned is followed into the caller, which is on
the stack.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import linecache
import os
import textwrap
from collections.abc import Iterator
from types import CodeType, FrameType

#: Callers that a returned value is followed into.
_MOST_CALLERS = 8
#: Instructions that ask a value whether it is true.
_ASKING = ("POP_JUMP", "JUMP_IF", "TO_BOOL", "UNARY_NOT")
#: Attributes and functions that say what a value is, not what it holds.
_OF_KIND = frozenset(
    "shape dtype device ndim size numel dim stride nbytes itemsize is_cuda requires_grad isinstance type len hasattr id".split()
)
#: Code whose values belong to the code around it.
_INNER = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>")
#: Where tensors are turned into text.
_SHOWING_FILES = (os.path.join("torch", "_tensor_str.py"),)
#: Calls that show what they are given, by the last part of their name.
_SHOWING = frozenset(
    "print write log info debug warning error append extend update add_scalar set_postfix format str repr".split()
)


class Steering:
    """Asks each place once."""

    def __init__(self) -> None:
        self._answers: dict[tuple[object, ...], bool] = {}

    def steers(self, frame: FrameType | None, *, may_divide: bool = False) -> bool:
        """Whether what the innermost frame reads now decides about anything, or something may be divided by it."""
        frame = reading(frame)
        if frame is None:
            # No code of Python's reads: autograd's own does in its threads, and never to show anything.
            return True
        key: list[object] = [may_divide]
        caller = frame
        while caller is not None and len(key) <= _MOST_CALLERS:
            key.append((caller.f_code, caller.f_lasti))
            caller = caller.f_back
        found = self._answers.get(tuple(key))
        if found is None:
            found = self._answers[tuple(key)] = _decides(frame, may_divide)
        return found


def is_shown(frame: FrameType | None) -> bool:
    """Whether a tensor is being turned into text."""
    while frame is not None:
        if frame.f_code.co_filename.endswith(_SHOWING_FILES):
            return True
        frame = frame.f_back
    return False


def reading(frame: FrameType | None) -> FrameType | None:
    """The frame whose code reads: methods of tensors themselves are passed over."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    while frame is not None:
        path = frame.f_code.co_filename
        if not path.startswith(here) and not path.endswith(os.path.join("torch", "_tensor.py")):
            return frame
        frame = frame.f_back
    return None


def _decides(frame: FrameType | None, may_divide: bool) -> bool:
    if is_shown(frame):
        return False
    for _ in range(_MOST_CALLERS):
        if frame is None:
            return False
        if _asks(frame.f_code, frame.f_lasti):
            return True
        holder = _holder(frame)
        body = _body(holder.f_code)
        if body is None:
            # Nobody can tell without the source.
            return True
        flow = _Flow(body, may_divide)
        flow.start(frame.f_code, frame.f_lasti)
        if flow.decides:
            return True
        if not flow.returns:
            return False
        frame = holder.f_back
    return False


def _holder(frame: FrameType) -> FrameType:
    """The frame in whose source the code of this one stands: comprehensions have none of their own."""
    holder = frame
    while holder.f_code.co_name in _INNER and holder.f_back is not None:
        holder = holder.f_back
    return holder


def _asks(code: CodeType, at: int) -> bool:
    name = dis.opname[code.co_code[at]] if 0 <= at < len(code.co_code) else ""
    return any(part in name for part in _ASKING)


@functools.cache
def _body(code: CodeType) -> ast.AST | None:
    """The syntax of a function or of a whole file."""
    is_file = code.co_name == "<module>"
    try:
        lines, first = (linecache.getlines(code.co_filename), 1) if is_file else inspect.getsourcelines(code)
        tree = ast.parse("".join(lines) if is_file else textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError, ValueError, TypeError):
        return None
    if not lines:
        return None
    indent = 0 if is_file else len(lines[0]) - len(lines[0].lstrip())
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            child.parent = node  # type: ignore[attr-defined]
        if hasattr(node, "lineno"):
            node.lineno += max(first, 1) - 1
            node.end_lineno = (node.end_lineno or node.lineno) + max(first, 1) - 1
            node.col_offset += indent
            node.end_col_offset = (node.end_col_offset or 0) + indent
    return tree


class _Flow:
    """Where a value goes in one body of code."""

    def __init__(self, body: ast.AST, may_divide: bool) -> None:
        self.body, self._may_divide = body, may_divide
        self.decides = self.returns = False
        self._names: set[str] = set()

    def start(self, code: CodeType, at: int) -> None:
        """From the expression that the instruction belongs to."""
        for node in list(_expressions(self.body, code, at)):
            self._follow(node)

    def _follow(self, node: ast.AST) -> None:
        """The value of this expression is what was read, or made from it."""
        while not self.decides:
            parent = getattr(node, "parent", None)
            if parent is None or isinstance(parent, (ast.Expr, ast.JoinedStr, ast.FormattedValue)):
                return
            if isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)) and node is parent.test:
                self.decides = True
            elif _is_of_kind(node, parent):
                return
            elif isinstance(parent, ast.Compare) or _is_index(node, parent):
                self.decides = True
            elif self._may_divide and _is_divisor(node, parent):
                self.decides = True
            elif isinstance(parent, ast.comprehension):
                self._bind(parent.target, parent) if node is parent.iter else self._decide()
                return
            elif isinstance(parent, (ast.For, ast.AsyncFor)):
                return self._bind(parent.target, parent) if node is parent.iter else None
            elif isinstance(parent, (ast.Return, ast.Yield, ast.YieldFrom)):
                self.returns = True
                return
            elif isinstance(parent, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
                for target in parent.targets if isinstance(parent, ast.Assign) else [parent.target]:
                    self._bind(target, parent)
                if not isinstance(parent, ast.NamedExpr):
                    return
                node = parent
            elif isinstance(parent, ast.Call):
                if _last_name(parent.func) in _SHOWING and node is not parent.func:
                    return
                if _last_name(parent.func) in ("range", "islice"):
                    return self._decide()
                node = parent
            elif isinstance(parent, ast.expr) or isinstance(parent, (ast.keyword, ast.Starred)):
                node = parent
            else:
                return

    def _decide(self) -> None:
        self.decides = True

    def _bind(self, target: ast.AST, _statement: ast.AST) -> None:
        """The value has these names now: whoever uses them uses it."""
        for node in ast.walk(target):
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Store) or node.id in self._names:
                continue
            self._names.add(node.id)
            for use in ast.walk(self.body):
                if isinstance(use, ast.Name) and use.id == node.id and isinstance(use.ctx, ast.Load):
                    self._follow(use)


def _expressions(body: ast.AST, code: CodeType, at: int) -> Iterator[ast.AST]:
    """The expression that an instruction belongs to; all of its line where Python does not say."""
    positions = None
    if hasattr(code, "co_positions"):
        positions = next((found for number, found in enumerate(code.co_positions()) if number == at // 2), None)
    if positions is not None and None not in positions:
        line, end_line, column, end_column = positions
        wanted = (line, column, end_line, end_column)
        for node in ast.walk(body):
            if (
                isinstance(node, ast.expr)
                and (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) == wanted
            ):
                yield node
                return
    lines = [number for start, _, number in code.co_lines() if start <= at and number is not None] or [0]
    for node in ast.walk(body):
        if isinstance(node, ast.Call) and node.lineno <= lines[-1] <= (node.end_lineno or 0):
            yield node


def _is_index(node: ast.AST, parent: ast.AST) -> bool:
    return isinstance(parent, ast.Slice) or (isinstance(parent, ast.Subscript) and node is parent.slice)


def _is_of_kind(node: ast.AST, parent: ast.AST) -> bool:
    """Whether only what the value is matters, whatever it holds."""
    if isinstance(parent, ast.Compare):
        return all(isinstance(operator, (ast.Is, ast.IsNot)) for operator in parent.ops)
    if isinstance(parent, ast.Attribute):
        return parent.attr in _OF_KIND
    return isinstance(parent, ast.Call) and node is not parent.func and _last_name(parent.func) in _OF_KIND


def _is_divisor(node: ast.AST, parent: ast.AST) -> bool:
    return (
        isinstance(parent, ast.BinOp)
        and isinstance(parent.op, (ast.Div, ast.FloorDiv, ast.Mod))
        and node is parent.right
    )


def _last_name(function: ast.AST) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
