"""Which variables may still be read with the value that they have at one place of a function.

Read backwards from the end, as compilers do: an assignment makes a variable's value before it useless, a read makes it
needed. Where it cannot be told which way the program goes, every way counts.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from .syntax import is_read, stored

_Names = frozenset[str]
_NOTHING: _Names = frozenset()
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def live_after(scope: ast.AST, place: ast.stmt) -> _Names:
    """What may be read after a statement of this function or file, before it is set again."""
    body = getattr(scope, "body", [])
    reader = _Backwards(id(place))
    # Inner functions read what is around them whenever they are called.
    always: set[str] = set()
    for node in ast.walk(scope):
        if isinstance(node, _DEFINITIONS) and node is not scope:
            always |= {part.id for part in ast.walk(node) if is_read(part)}
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            always |= set(node.names)
    reader.block(body, _NOTHING)
    return reader.found | always


@dataclass
class _Backwards:
    """Goes through statements from the last to the first."""

    #: The statement that is asked about.
    place: int
    #: What is live after it; a statement inside a loop or `try` is passed more than once.
    found: _Names = _NOTHING
    #: What is live where `break` and `continue` go to, for each loop around.
    exits: list[tuple[_Names, _Names]] = field(default_factory=list)
    #: What whoever catches an exception may read.
    caught: _Names = _NOTHING

    def block(self, statements: Sequence[ast.stmt], after: _Names) -> _Names:
        """What is live before these statements, if so much is live after them."""
        for statement in reversed(statements):
            if id(statement) == self.place:
                self.found |= after | self.caught
            after = self._before(statement, after) | self.caught
        return after

    def _before(self, statement: ast.stmt, after: _Names) -> _Names:
        match statement:
            case ast.If():
                return _reads(statement.test) | self.block(statement.body, after) | self.block(statement.orelse, after)
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._loop(statement, after)
            case ast.With() | ast.AsyncWith():
                before = self.block(statement.body, after)
                for item in reversed(statement.items):
                    before -= stored(item.optional_vars) if item.optional_vars else _NOTHING
                    before |= _reads(item.context_expr) | _reads(item.optional_vars)
                return before
            case ast.Try():
                return self._try(statement, after)
            case ast.Match():
                cases = [self.block(case.body, after) | _reads(case.guard) for case in statement.cases]
                return _reads(statement.subject).union(after, *cases)
            case ast.Return() | ast.Raise():
                return _reads(statement)
            case ast.Break():
                return self.exits[-1][0] if self.exits else after
            case ast.Continue():
                return self.exits[-1][1] if self.exits else after
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return (after - {statement.name}) | _reads(statement)
            case _:
                return (after - _sets(statement)) | _reads(statement) | _adds_to(statement)

    def _loop(self, loop: ast.For | ast.AsyncFor | ast.While, after: _Names) -> _Names:
        """The body may run any number of times, so what it needs at its beginning may be needed at its end."""
        left = self.block(loop.orelse, after)
        target = loop.target if not isinstance(loop, ast.While) else None
        asked = _reads(loop.test if isinstance(loop, ast.While) else target)
        head = left | asked
        while True:
            self.exits.append((after, head))
            body = self.block(loop.body, head)
            self.exits.pop()
            needed = head | asked | (body - (stored(target) if target else _NOTHING))
            if needed == head:
                return head if isinstance(loop, ast.While) else head | _reads(loop.iter)
            head = needed

    def _try(self, statement: ast.Try, after: _Names) -> _Names:
        end = self.block(statement.finalbody, after)
        handlers = [self.block(handler.body, end) | _reads(handler.type) for handler in statement.handlers]
        # An exception that nobody catches here goes on behind `finally`.
        uncaught = self.block(statement.finalbody, self.caught)
        before, self.caught = self.caught, uncaught.union(*handlers)
        try:
            return self.block(statement.body, self.block(statement.orelse, end))
        finally:
            self.caught = before


def _reads(node: ast.AST | None) -> _Names:
    """Every variable that this reads, in whatever order."""
    return frozenset(part.id for part in ast.walk(node) if is_read(part)) if node is not None else _NOTHING


def _sets(statement: ast.stmt) -> _Names:
    """The variables that a simple statement sets or deletes for sure."""
    if isinstance(statement, ast.Delete):
        return frozenset(part.id for part in statement.targets if isinstance(part, ast.Name))
    # What `+=` sets depends on what was there; an annotation alone sets nothing.
    if not isinstance(statement, ast.Assign) and not (isinstance(statement, ast.AnnAssign) and statement.value):
        return _NOTHING
    return frozenset(stored(statement)) - _conditional(statement)


def _adds_to(statement: ast.stmt) -> _Names:
    """What `+=` and the like read and set."""
    return frozenset(stored(statement)) if isinstance(statement, ast.AugAssign) else _NOTHING


def _conditional(statement: ast.stmt) -> _Names:
    """What `:=` sets inside of an expression, perhaps."""
    inner = (part.target for part in ast.walk(statement) if isinstance(part, ast.NamedExpr))
    return frozenset(part.id for part in inner)
