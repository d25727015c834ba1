"""Whether anything is decided by a value that the script reads: a branch, an index, a size.

Most reads only show a number. The code that reads is asked where its value goes: from the expression that reads it,
through names, lists, calculations and calls, to what it ends in. A test, a comparison, an index or a slice decides; what
is printed or logged is shown. A value that is returned is followed into the caller, which is on the stack. What an object
or another function gets is lost sight of: whether it decides anything is not known.
"""

from __future__ import annotations

import ast
import builtins
import dis
import enum
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
_SHOWING = frozenset("print write log info debug warning error update add_scalar set_postfix format str repr".split())
#: Methods that put what they are given into a collection: whoever uses that uses it.
_COLLECTING = frozenset("append appendleft extend insert add setdefault put".split())
#: Functions that are given the size of what they make: at first, or after what they make it of.
_SIZED_FIRST = frozenset("zeros ones empty rand randn full new_zeros new_ones new_empty new_full range islice arange".split())
_SIZED_AFTER = frozenset(
    "split split_with_sizes tensor_split chunk narrow view reshape expand repeat tile repeat_interleave unfold pad topk".split()
)
#: Methods that give what they read of the tensor they belong to, whatever else they are told.
_GIVING = frozenset("item tolist numpy to cpu type float double half int long bool".split())
#: Modules whose functions get what they work on as their first argument, as methods do not.
_MODULES = frozenset("torch F functional np numpy".split())
#: Modules whose functions give what they are asked for and keep nothing.
_PURE = frozenset("math np numpy torch cmath statistics operator".split())


class Fate(enum.IntEnum):
    """What becomes of a value."""

    SHOWN = 0
    #: An object or another function has it.
    LOST = 1
    DECIDES = 2


class Steering:
    """Asks each place once."""

    def __init__(self) -> None:
        self._answers: dict[tuple[object, ...], Fate] = {}

    def steers(self, frame: FrameType | None, *, may_divide: bool = False) -> bool:
        """Whether what the innermost frame reads now decides about anything, or something may be divided by it."""
        return self.fate(frame, may_divide=may_divide) is Fate.DECIDES

    def fate(self, frame: FrameType | None, *, may_divide: bool = False) -> Fate:
        """What becomes of what the innermost frame reads now."""
        frame = reading(frame)
        if frame is None:
            # No code of Python's reads: autograd's own does in its threads, and never to show anything.
            return Fate.DECIDES
        key: list[object] = [may_divide]
        caller = frame
        while caller is not None and len(key) <= _MOST_CALLERS:
            key.append((caller.f_code, caller.f_lasti))
            caller = caller.f_back
        found = self._answers.get(tuple(key))
        if found is None:
            found = self._answers[tuple(key)] = _fate(frame, may_divide)
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


def _fate(frame: FrameType | None, may_divide: bool) -> Fate:
    if is_shown(frame):
        return Fate.SHOWN
    is_lost = False
    for _ in range(_MOST_CALLERS):
        if frame is None:
            break
        if _asks(frame.f_code, frame.f_lasti):
            return Fate.DECIDES
        holder = holder_of(frame)
        body = body_of(holder.f_code)
        if body is None:
            # Nobody can tell without the source.
            return Fate.DECIDES
        flow = _Flow(body, may_divide)
        flow.start(frame.f_code, frame.f_lasti)
        if flow.decides:
            return Fate.DECIDES
        is_lost |= flow.is_lost
        if not flow.returns:
            break
        frame = holder.f_back
    return Fate.LOST if is_lost else Fate.SHOWN


def holder_of(frame: FrameType) -> FrameType:
    """The frame in whose source the code of this one stands: comprehensions have none of their own."""
    holder = frame
    while holder.f_code.co_name in _INNER and holder.f_back is not None:
        holder = holder.f_back
    return holder


def _asks(code: CodeType, at: int) -> bool:
    name = dis.opname[code.co_code[at]] if 0 <= at < len(code.co_code) else ""
    return any(part in name for part in _ASKING)


@functools.cache
def body_of(code: CodeType) -> ast.AST | None:
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
        self.decides = self.returns = self.is_lost = False
        #: Names followed so far, and whether as those of a collection.
        self._names: set[tuple[str, bool]] = set()
        #: Whether what is followed now came out of a collection.
        self._is_collected = False

    def start(self, code: CodeType, at: int) -> None:
        """From the expression that the instruction belongs to."""
        for node in list(expressions(self.body, code, at)):
            self.is_lost |= _hands_over(node)
            self._follow(node)

    def _follow(self, node: ast.AST) -> None:
        """The value of this expression is what was read, or made from it."""
        while not self.decides:
            parent = getattr(node, "parent", None)
            if parent is None or isinstance(parent, (ast.Expr, ast.JoinedStr, ast.FormattedValue)) or _is_format(parent):
                return
            if isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)) and node is parent.test:
                return self._ask()
            if _is_of_kind(node, parent):
                return
            if isinstance(parent, ast.Compare):
                return self._ask()
            if _is_index(node, parent):
                self.decides = True
            elif self._may_divide and _is_divisor(node, parent):
                self.decides = True
            elif isinstance(parent, ast.comprehension):
                self._bind(parent.target) if node is parent.iter else self._ask()
                return
            elif isinstance(parent, (ast.For, ast.AsyncFor)):
                return self._bind(parent.target) if node is parent.iter else None
            elif isinstance(parent, (ast.Return, ast.Yield, ast.YieldFrom)):
                self.returns = True
                return
            elif isinstance(parent, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
                for target in parent.targets if isinstance(parent, ast.Assign) else [parent.target]:
                    self._store(target)
                if not isinstance(parent, ast.NamedExpr):
                    return
                node = parent
            elif isinstance(parent, ast.Call):
                if node is not parent.func and not self._pass(node, parent):
                    return
                node = parent
            elif isinstance(parent, ast.expr) or isinstance(parent, (ast.keyword, ast.Starred)):
                node = parent
            else:
                return

    def _pass(self, node: ast.AST, call: ast.Call) -> bool:
        """The value is an argument of this call; whether what the call gives is to be followed."""
        name = _last_name(call.func)
        if name in _SHOWING:
            return False
        if name in _COLLECTING and isinstance(call.func, ast.Attribute):
            self._store(call.func.value, is_collection=True)
            return False
        self.decides |= _is_size(node, call)
        self.is_lost |= not _is_pure(call.func)
        return True

    def _ask(self) -> None:
        """A branch or a comparison. By numbers that were collected first, scripts choose what to keep of their work: that
        alone is not worth another run."""
        if self._is_collected:
            self.is_lost = True
        else:
            self.decides = True

    def _store(self, target: ast.AST, *, is_collection: bool = False) -> None:
        """The value is given to a name or put into a collection that has one; what objects have is lost sight of."""
        if isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self._store(part)
            return
        while isinstance(target, (ast.Subscript, ast.Starred)):
            is_collection |= isinstance(target, ast.Subscript)
            target = target.value
        if isinstance(target, ast.Name):
            self._bind(target, is_collection=is_collection)
        else:
            self.is_lost = True

    def _bind(self, target: ast.AST, *, is_collection: bool = False) -> None:
        """The value has these names now, or what has them holds it: whoever uses them uses it."""
        was_collected = self._is_collected
        self._is_collected |= is_collection
        for node in ast.walk(target):
            if not isinstance(node, ast.Name) or (node.id, self._is_collected) in self._names:
                continue
            self._names.add((node.id, self._is_collected))
            for use in ast.walk(self.body):
                if isinstance(use, ast.Name) and use.id == node.id and isinstance(use.ctx, ast.Load):
                    self._follow(use)
        self._is_collected = was_collected


def expressions(body: ast.AST, code: CodeType, at: int) -> Iterator[ast.AST]:
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


def _hands_over(node: ast.AST) -> bool:
    """Whether it is a call that reads one of its arguments, as operators do with a tensor that is given for a number
    (`weights.add_(update, alpha=rate)`): what they make holds it."""
    if not isinstance(node, ast.Call):
        return False
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    if all(isinstance(argument, ast.Constant) for argument in given):
        return False
    name = _last_name(node.func)
    is_builtin = isinstance(node.func, ast.Name) and hasattr(builtins, name)
    return not is_builtin and name not in _GIVING | _SHOWING


def _is_index(node: ast.AST, parent: ast.AST) -> bool:
    return isinstance(parent, ast.Slice) or (isinstance(parent, ast.Subscript) and node is parent.slice)


def _is_size(node: ast.AST, call: ast.Call) -> bool:
    """Whether an argument of a call says how large its result is."""
    name, at = _last_name(call.func), call.args.index(node) if node in call.args else None
    if name in ("full", "new_full"):
        return at == 0
    if name in _SIZED_AFTER:
        is_of_module = isinstance(call.func, ast.Attribute) and _last_name(call.func.value) in _MODULES
        return at is None or at >= is_of_module
    return name in _SIZED_FIRST


def _is_of_kind(node: ast.AST, parent: ast.AST) -> bool:
    """Whether only what the value is matters, whatever it holds."""
    if isinstance(parent, ast.Compare):
        return all(isinstance(operator, (ast.Is, ast.IsNot)) for operator in parent.ops)
    if isinstance(parent, ast.Attribute):
        return parent.attr in _OF_KIND
    return isinstance(parent, ast.Call) and node is not parent.func and _last_name(parent.func) in _OF_KIND


def _is_format(parent: ast.AST) -> bool:
    """Whether a text is made: `"%.3f" % loss`."""
    is_modulo = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mod)
    return is_modulo and isinstance(getattr(parent.left, "value", None), str)  # type: ignore[attr-defined]


def _is_divisor(node: ast.AST, parent: ast.AST) -> bool:
    return (
        isinstance(parent, ast.BinOp)
        and isinstance(parent.op, (ast.Div, ast.FloorDiv, ast.Mod))
        and node is parent.right
    )


def _is_pure(function: ast.AST) -> bool:
    """Whether a function is known to keep nothing of what it is given: Python's own, and those for numbers."""
    if isinstance(function, ast.Name):
        return hasattr(builtins, function.id)
    root = function
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and root.id in _PURE


def _last_name(function: ast.AST) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
