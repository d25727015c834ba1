"""Conditions that can be worked out without running the script: arithmetic over values that change regularly.

`if (step + 1) % args.eval_every == 0` is made of *leaves* (`step`, `args.eval_every`), which are read from the running
program, and of arithmetic, which is repeated here for values that `step` has not reached yet.
"""

from __future__ import annotations

import ast
import copy
import enum
import functools
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

#: Functions that a condition may call: they have no effect and depend on nothing else.
_FUNCTIONS = {function.__name__: function for function in (abs, bool, float, int, max, min, round)}
#: Iterations from which on a counter that has to get somewhere is there.
_FAR = 10_000
_FARTHEST = 1 << 40
_PLAIN = (bool, int, float, str, type(None))
_ARITHMETIC = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Constant, ast.Tuple, ast.List, ast.Set)


class Opaque:
    """Stands for a value that is no number: it is there, and nothing else is known of it."""

    def _compared(self, _other: object) -> bool:
        raise TypeError("nothing is known of this value")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compared
    __hash__ = None  # type: ignore[assignment]


class Likely(Opaque):
    """The same where a comparison that nobody can make is taken to hold."""

    def _compared(self, _other: object) -> bool:
        return True

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compared
    __hash__ = None


_OPAQUE = Opaque()
_LIKELY = Likely()


def plain(value: Any) -> Any:
    """The value if it is safe to compute with: comparing tensors would ask the card."""
    if isinstance(value, enum.Enum):
        value = value.value
    return value if type(value) in _PLAIN else _OPAQUE


@dataclass(frozen=True)
class Condition:
    """A condition whose leaves have been taken out."""

    #: The leaves as they are written.
    leaves: tuple[str, ...]
    #: The arithmetic between them.
    code: types.CodeType

    def holds(self, values: Mapping[str, Any]) -> bool | None:
        """Whether it is true for these values of its leaves; None where that cannot be told."""
        names = {f"v{index}": values[leaf] for index, leaf in enumerate(self.leaves) if leaf in values}
        try:
            return bool(eval(self.code, {"__builtins__": _FUNCTIONS}, names))  # noqa: S307 - arithmetic only
        except Exception:  # noqa: BLE001 - whatever it raises here it may raise there
            return None


#: Functions that only return an expression, by name: their parameters, and the expression.
Formulas = Mapping[str, tuple[list[str], ast.expr]]


def formulas_of(tree: ast.AST) -> Formulas:
    """The functions of a file that a condition may call as if they were written out: `divisible_by(step, 500)`."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            *before, last = node.body
            is_documented = len(before) == 1 and isinstance(before[0], ast.Expr) and _is_constant(before[0].value)
            names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
            if isinstance(last, ast.Return) and last.value is not None and (not before or is_documented):
                found[node.name] = names, last.value
    return found


def condition_of(tests: Iterable[tuple[ast.expr, bool]], formulas: Formulas | None = None) -> Condition | None:
    """All of these tests together, each with whether it has to be false. None where nothing about them is known."""
    taken = _Leaves(formulas or {})
    parts = []
    for test, is_negated in tests:
        part = taken.strict(test) if is_negated else taken.loose(test)
        if part is not None:
            parts.append(ast.UnaryOp(ast.Not(), part) if is_negated else part)
    if not parts or not taken.texts:
        return None
    body = parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)
    tree = ast.fix_missing_locations(ast.Expression(body))
    return Condition(tuple(taken.texts), compile(tree, "<condition>", "eval"))


def condition_from(text: str) -> Condition:
    """The condition that is written in a table of ours."""
    condition = condition_of([(ast.parse(text, mode="eval").body, False)])
    if condition is None:
        raise ValueError(f"no condition: {text}")
    return condition


class _Leaves:
    """Takes expressions apart."""

    def __init__(self, formulas: Formulas) -> None:
        self.texts: list[str] = []
        self.formulas = formulas

    def loose(self, node: ast.expr) -> ast.expr | None:
        """Parts of `and` and `or` that cannot be worked out are left out: the rest decides."""
        if isinstance(node, ast.BoolOp):
            parts = [part for value in node.values if (part := self.loose(value)) is not None]
            if not parts:
                return None
            return ast.BoolOp(node.op, parts) if len(parts) > 1 else parts[0]
        return self.strict(node)

    def strict(self, node: ast.expr) -> ast.expr | None:
        """The whole expression or nothing."""
        before = len(self.texts)
        try:
            return self._taken(node)
        except ValueError:
            del self.texts[before:]
            return None

    def _taken(self, node: ast.expr) -> ast.expr:
        if _is_leaf(node):
            text = ast.unparse(node)
            if text not in self.texts:
                self.texts.append(text)
            return ast.Name(f"v{self.texts.index(text)}", ast.Load())
        if isinstance(node, ast.Call):
            return self._called(node)
        if not isinstance(node, _ARITHMETIC):
            raise ValueError
        fields = {name: self._field(value) for name, value in ast.iter_fields(node)}
        return type(node)(**fields)

    def _called(self, node: ast.Call) -> ast.expr:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in _FUNCTIONS and not node.keywords:
            return ast.Call(node.func, [self._taken(argument) for argument in node.args], [])
        names, formula = self.formulas.get(name, ([], None))
        if formula is None or node.keywords or len(node.args) != len(names):
            raise ValueError
        # A formula inside a formula is not looked into: it might be itself.
        written_out = _Arguments(dict(zip(names, node.args, strict=True))).visit(copy.deepcopy(formula))
        inner, self.formulas = self.formulas, {}
        try:
            return self._taken(written_out)
        finally:
            self.formulas = inner

    def _field(self, value: Any) -> Any:
        if isinstance(value, ast.expr):
            return self._taken(value)
        if isinstance(value, list):
            return [self._field(part) for part in value]
        return value


class _Arguments(ast.NodeTransformer):
    """Puts arguments in the place of parameters."""

    def __init__(self, arguments: Mapping[str, ast.expr]) -> None:
        self.arguments = arguments

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.arguments.get(node.id, node)


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


def _is_leaf(node: ast.expr) -> bool:
    """A name, an attribute, an entry under a constant key, or the length of one of these."""
    if isinstance(node, ast.Call):
        is_length = isinstance(node.func, ast.Name) and node.func.id == "len" and not node.keywords
        return is_length and len(node.args) == 1 and _is_leaf(node.args[0])
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            return False
        node = node.value
    return isinstance(node, ast.Name)


@functools.cache
def reader(leaf: str) -> types.CodeType:
    """What to evaluate, among the variables of the program, for the value of a leaf."""
    return compile(leaf, "<leaf>", "eval")


@functools.cache
def place(leaf: str) -> tuple[str, types.CodeType | None, Any]:
    """How a leaf can be given another value: `variable`, `attribute`, `entry` or `none`; its owner; name or key."""
    node = ast.parse(leaf, mode="eval").body
    if isinstance(node, ast.Name):
        return "variable", None, node.id
    if isinstance(node, ast.Attribute):
        return "attribute", reader(ast.unparse(node.value)), node.attr
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return "entry", reader(ast.unparse(node.value)), node.slice.value
    return "none", None, None


class Counter:
    """What one leaf did in the iterations so far: it stays, or moves by the same amount every so many iterations."""

    def __init__(self, value: int) -> None:
        self.value = value
        self.changes = 0
        #: Iterations between the last two changes, and since the last one.
        self.period = 0
        self.phase = 0
        self.amount = 0
        self.is_regular = True

    def observe(self, value: int) -> None:
        """The value at the end of another iteration."""
        self.phase += 1
        moved, self.value = value - self.value, value
        if not moved:
            return
        self.changes += 1
        # How long the value had stood before the first change was not seen from the beginning.
        is_known = self.changes > 2
        self.is_regular = self.is_regular and self.amount in (0, moved) and (not is_known or self.period == self.phase)
        self.period = self.phase + 1 if self.changes == 1 and self.phase > 1 else self.phase
        self.amount, self.phase = moved, 0

    def after(self, iterations: int) -> int:
        """The value so many iterations later."""
        if not self.amount:
            return self.value
        return self.value + self.amount * ((self.phase + iterations) // self.period)


@dataclass(frozen=True)
class Round:
    """A visit of a loop that will be made again and again, in which some counters begin anew each time."""

    #: Those that do.
    leaves: frozenset[str]
    #: Iterations of a visit, and those of this one that are over.
    length: int
    done: int

    def within(self, iterations: int) -> int:
        """By how many iterations its counters differ from now after so many: less than none where they began anew."""
        return (self.done - 1 + iterations) % self.length - (self.done - 1)


class Counters:
    """The leaves of the conditions of one loop, followed from iteration to iteration."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.counters: dict[str, Counter] = {}

    def observe(self, values: Mapping[str, Any]) -> None:
        """The values at the end of an iteration."""
        for leaf, value in values.items():
            self.values[leaf] = plain(value)
            if type(value) is not int:
                self.counters.pop(leaf, None)
            elif leaf in self.counters:
                self.counters[leaf].observe(value)
            else:
                self.counters[leaf] = Counter(value)

    def skip(self, iterations: int, leaves: Iterable[str]) -> None:
        """These counters have been moved on by so many iterations."""
        for leaf in leaves:
            counter = self.counters[leaf]
            if counter.amount:
                counter.value = self.values[leaf] = counter.after(iterations)
                counter.phase = (counter.phase + iterations) % counter.period

    def moving(self, leaves: Iterable[str]) -> list[str]:
        """Those of the leaves that count."""
        return [leaf for leaf in leaves if leaf in self.counters and self.counters[leaf].amount]

    def likely(self, condition: Condition) -> dict[str, Any]:
        """The values of its leaves, where comparing those that are no numbers is taken to come out true."""
        values = {leaf: self.values[leaf] for leaf in condition.leaves if leaf in self.values}
        return {leaf: _LIKELY if value is _OPAQUE else value for leaf, value in values.items()}

    def certain(self, condition: Condition) -> bool:
        """Whether all its leaves are numbers."""
        return all(self.values.get(leaf, _OPAQUE) is not _OPAQUE for leaf in condition.leaves)

    def comes_true(self, condition: Condition) -> bool:
        """Whether the condition holds once its counters, regular or not, have moved far enough."""
        values = self.likely(condition)
        moving = self.moving(condition.leaves)
        for leaf in moving:
            values[leaf] += self.counters[leaf].amount * _FAR
        return bool(moving) and condition.holds(values) is True

    def first_time(
        self, condition: Condition, before: int, is_out_of_time: Callable[[], bool], again: Round | None = None
    ) -> int | None:
        """In how many iterations from now the condition holds for the first time, if that is sooner than `before`."""
        moving = self.moving(condition.leaves)
        if not moving or not all(self.counters[leaf].is_regular for leaf in moving):
            return None
        values = self.likely(condition)
        for iterations in range(1, before):
            for leaf in moving:
                begins_anew = again is not None and leaf in again.leaves
                values[leaf] = self.counters[leaf].after(again.within(iterations) if begins_anew else iterations)
            holds = condition.holds(values)
            if holds or holds is None or (iterations % 1024 == 0 and is_out_of_time()):
                return iterations if holds else None
        return None

    def limit(self, condition: Condition) -> int | None:
        """In how many iterations the condition begins to hold, if it then holds for good: `step >= steps`."""
        moving = self.moving(condition.leaves)
        if not moving or not all(self.counters[leaf].is_regular for leaf in moving):
            return None
        low, high = 0, 1
        while high < _FARTHEST and not self._holds_after(condition, high):
            low, high = high, 2 * high
        if high >= _FARTHEST:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._holds_after(condition, middle) else (middle, high)
        return high

    def _holds_after(self, condition: Condition, iterations: int) -> bool:
        moved = {leaf: self.counters[leaf].after(iterations) for leaf in self.moving(condition.leaves)}
        return condition.holds({**self.likely(condition), **moved}) is True

    def longest_period(self, condition: Condition) -> int:
        """Iterations that it takes until every counter of the condition has moved once."""
        return max((self.counters[leaf].period for leaf in self.moving(condition.leaves)), default=1)
