"""Reads the body of a training loop: what must run for every part of a batch, and what once for the whole.

Up to `backward()` the statements that depend on the batch run for every part. What does not depend on it (counters,
learning rates, `zero_grad()`, prints) has run once already, and what follows `backward()` runs once too: clipping, the
optimizer, schedulers, scalers, averages of weights, metrics. So none of those has to be held back.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from .liveness import live_after
from .syntax import bound_inside, calls_backward, ends_the_program, is_backward, is_read, makes, root_of, stored

_LEAVING = (ast.Break, ast.Continue, ast.Return)
_SUSPENDING = (ast.Yield, ast.YieldFrom, ast.Await)


class NotUnderstood(Exception):
    """Why a loop cannot be run in parts: one sentence, without the place."""


@dataclass(frozen=True)
class Reading:
    """A loop that can be run in parts."""

    #: What binds the batch.
    target: ast.expr
    #: What every part runs, `backward()` last.
    statements: list[ast.stmt]
    #: The same, with the assignments before it that do not depend on the batch but are read.
    statements_alone: list[ast.stmt]
    #: Variables that these statements set and something else reads.
    results: tuple[str, ...]


def has_backward(loop: ast.For) -> bool:
    """Whether the body, or a function that is defined in it, calls `backward()`."""
    return any(is_backward(node) for statement in loop.body for node in ast.walk(statement))


def read(loop: ast.For, target: ast.expr, scope: ast.AST) -> Reading:
    """Raises `NotUnderstood`."""
    head = _until_backward(loop.body)
    if head is None:
        raise NotUnderstood("backward() is called in a function that is defined inside the loop, as closures are")
    reader = _Reader(target, head)
    statements = reader.repeated(head)
    inside = {id(part) for statement in reader.whole for part in ast.walk(statement)}
    others = {node.id for node in ast.walk(scope) if is_read(node) and id(node) not in inside}
    results = tuple(sorted(reader.changing & others & _live(loop, scope)))
    alone = reader.needed(head, statements)
    return Reading(target, statements, alone, results)


def _live(loop: ast.For, scope: ast.AST) -> frozenset[str]:
    """What may be read after `backward()` with the value that it has there."""
    calls = (part for part in ast.walk(loop) if isinstance(part, ast.Expr) and is_backward(part.value))
    return frozenset().union(*(live_after(scope, call) for call in calls))


def _until_backward(body: Sequence[ast.stmt]) -> list[ast.stmt] | None:
    """The statements up to the call of `backward()`, without `with` blocks around it: the script is inside them."""
    for number, statement in enumerate(body):
        if not calls_backward(statement):
            continue
        if any(calls_backward(later) for later in body[number + 1 :]):
            raise NotUnderstood("it calls backward() more than once for a batch, as with several losses or optimizers")
        before = list(body[:number])
        if isinstance(statement, ast.With):
            return before + (_until_backward(statement.body) or [])
        if isinstance(statement, ast.If):
            branches = [_until_backward(statement.body), _until_backward(statement.orelse)]
            if branches[0] is None or branches[1] is None:
                raise NotUnderstood("it calls backward() for some of its batches only")
            changed = ast.If(statement.test, branches[0], branches[1])
            return [*before, ast.copy_location(changed, statement)]
        if isinstance(statement, ast.Expr) and is_backward(statement.value):
            _check_call(statement.value)
            return [*before, statement]
        raise NotUnderstood("it calls backward() inside a statement that may do more, such as a loop of its own")
    return None


def _check_call(call: ast.expr) -> None:
    if isinstance(call, ast.Call) and call.keywords:
        raise NotUnderstood(f"it calls backward() with {call.keywords[0].arg}, which may keep the graph")


class _Reader:
    """Goes through the statements before `backward()`."""

    def __init__(self, target: ast.expr, head: list[ast.stmt]) -> None:
        #: Variables that differ from part to part.
        self.changing = stored(target)
        #: The statements that are repeated, those inside of others too.
        self.whole: list[ast.AST] = [target]
        #: Variables that hold something made in this iteration, not another name for what was there before.
        self._fresh = {name for statement in head if makes(statement) for name in stored(statement)}
        before: set[str] = set()
        while before != self.changing:
            before = set(self.changing)
            for statement in head:
                self._spread(statement)
        self._bound = stored(target)
        self._later = set(self.changing)

    def _spread(self, statement: ast.stmt, is_conditional: bool = False) -> None:
        """Learns which variables depend on the batch."""
        if isinstance(statement, (ast.If, ast.With, ast.For)):
            conditions = [item.context_expr for item in statement.items] if isinstance(statement, ast.With) else []
            conditions += [statement.test] if isinstance(statement, ast.If) else []
            conditions += [statement.iter] if isinstance(statement, ast.For) else []
            is_inner = is_conditional or any(self._depends(condition) for condition in conditions)
            if isinstance(statement, ast.For) and (is_inner or self._depends(statement)):
                is_inner = True
                self.changing |= stored(statement.target)
            for inner in [*statement.body, *getattr(statement, "orelse", [])]:
                self._spread(inner, is_inner)
        elif self._depends(statement) or is_conditional:
            self.changing |= stored(statement)
            # `losses.append(loss)`: a list that was made for this batch is made for every part.
            call = statement.value if isinstance(statement, ast.Expr) else None
            root = root_of(call.func) if isinstance(call, ast.Call) else None
            if root in self._fresh:
                self.changing.add(root)

    def _depends(self, node: ast.AST) -> bool:
        return any(isinstance(part, ast.Name) and part.id in self.changing for part in ast.walk(node))

    def repeated(self, statements: Sequence[ast.stmt], is_conditional: bool = False) -> list[ast.stmt]:
        """Of these statements, what every part must run."""
        return [kept for statement in statements for kept in self._repeated(statement, is_conditional)]

    def _repeated(self, statement: ast.stmt, is_conditional: bool) -> list[ast.stmt]:
        if not is_conditional and not self._depends(statement) and not calls_backward(statement):
            return []
        if isinstance(statement, (ast.If, ast.With, ast.For)):
            return [self._block(statement, is_conditional)]
        self._check(statement)
        self.whole.append(statement)
        self._bound |= stored(statement)
        return [statement]

    def _block(self, statement: ast.If | ast.With | ast.For, is_conditional: bool) -> ast.stmt:
        """A block of statements, with those that are repeated."""
        parts: list[ast.AST] = []
        if isinstance(statement, ast.With):
            parts = [part for item in statement.items for part in (item.context_expr, item.optional_vars) if part]
        elif isinstance(statement, ast.If):
            parts = [statement.test]
        else:
            parts = [statement.iter, statement.target]
        for part in parts:
            self._check_reads(part)
            self.whole.append(part)
            self._bound |= stored(part)
        is_inner = is_conditional or isinstance(statement, ast.For) or any(self._depends(part) for part in parts)
        if is_inner and ends_the_program(statement.body):
            # An error that the script looks for: whichever part has it ends the program as the whole batch would.
            self.whole += statement.body
            return statement
        bound = set(self._bound)
        body = self.repeated(statement.body, is_inner) or [ast.copy_location(ast.Pass(), statement)]
        if isinstance(statement, ast.With):
            return ast.copy_location(ast.With(statement.items, body), statement)
        after_body, self._bound = self._bound, bound
        orelse = self.repeated(statement.orelse, is_inner)
        if isinstance(statement, ast.If):
            self._bound &= after_body
            return ast.copy_location(ast.If(statement.test, body, orelse), statement)
        return ast.copy_location(ast.For(statement.target, statement.iter, body, orelse), statement)

    def _check(self, statement: ast.stmt) -> None:
        """Raises unless the statement does the same for a part as for the batch, and nothing else."""
        self._check_reads(statement)
        place = f"line {statement.lineno}"
        if isinstance(statement, _LEAVING):
            raise NotUnderstood(f"{place} leaves the iteration depending on the batch, before backward()")
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for part in [part for target in targets for part in ast.walk(target)]:
                if isinstance(part, (ast.Attribute, ast.Subscript)) and isinstance(part.ctx, ast.Store):
                    if root_of(part) not in self.changing:
                        raise NotUnderstood(f"{place} keeps something of the batch elsewhere before backward()")
            if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                self._check_bound(statement.target.id, statement)
            return
        if isinstance(statement, ast.Expr) and (is_backward(statement.value) or self._works_in_place(statement)):
            return
        if not isinstance(statement, (ast.Assert, ast.Delete, ast.Pass)):
            raise NotUnderstood(f"{place} does something before backward() that would see a part of the batch only")

    def _works_in_place(self, statement: ast.Expr) -> bool:
        """Whether this changes something that belongs to the part alone."""
        call = statement.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return False
        return root_of(call.func) in self._bound

    def _check_reads(self, node: ast.AST) -> None:
        for part in ast.walk(node):
            if isinstance(part, _SUSPENDING):
                raise NotUnderstood("it suspends itself before backward()")
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                self._check_bound(part.id, node)

    def _check_bound(self, name: str, node: ast.AST) -> None:
        if name in self._later and name not in self._bound and name not in bound_inside(node):
            raise NotUnderstood(f"`{name}` is carried from one batch to the next, or added up, before backward()")

    def needed(self, head: Sequence[ast.stmt], statements: list[ast.stmt]) -> list[ast.stmt]:
        """The repeated statements after those others that they need: assignments of what they read, switches of a mode."""
        read = {node.id for statement in statements for node in ast.walk(statement) if is_read(node)}
        kept: list[ast.stmt] = []
        for statement in reversed(head):
            if isinstance(statement, ast.Assign) and not self._depends(statement) and stored(statement) & read:
                if any(isinstance(part, ast.Name) and part.id == "next" for part in ast.walk(statement)):
                    raise NotUnderstood(f"line {statement.lineno} takes an item of another iterator for every batch")
                read |= {node.id for node in ast.walk(statement) if is_read(node)}
                kept.insert(0, statement)
            elif _switches_mode(statement) and not self._depends(statement):
                # The first batch is taken before: after an evaluation the model is still in that mode.
                read |= {node.id for node in ast.walk(statement) if is_read(node)}
                kept.insert(0, statement)
        return kept + statements


def _switches_mode(statement: ast.stmt) -> bool:
    """`model.train()`, `model.eval()`: what follows computes otherwise."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in ("train", "eval")
