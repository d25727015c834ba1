"""The statements of a loop that run for every part, as a function of the batch."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any

from .reading import NotUnderstood, Reading

_BATCH, _LOCALS = "__oomph_batch__", "__oomph_locals__"


class PartBody:
    """Runs those statements with the variables of a frame of the script."""

    def __init__(self, statements: list[ast.stmt], reading: Reading, frame: FrameType) -> None:
        self.results = reading.results
        own = set(frame.f_code.co_varnames) | set(frame.f_code.co_cellvars) | set(frame.f_code.co_freevars)
        is_module = frame.f_locals is frame.f_globals
        names = {node.id for part in statements for node in ast.walk(part) if isinstance(node, ast.Name)}
        set_here = {
            node.id
            for part in [reading.target, *statements]
            for node in ast.walk(part)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        #: The variables that come from the script's frame.
        self.taken = () if is_module else tuple(sorted((names & own) - set_here))
        self._function = self._compiled(statements, reading.target, frame)
        self.code = self._function.__code__

    def _compiled(self, statements: list[ast.stmt], target: ast.expr, frame: FrameType) -> FunctionType:
        where: dict[str, Any] = {name: getattr(target, name) for name in target._attributes}
        bind = ast.Assign([target], ast.Name(_BATCH, ast.Load(), **where), **where)
        end = ast.Return(ast.Call(ast.Name(_LOCALS, ast.Load(), **where), [], [], **where), **where)
        arguments = [ast.arg(name, **where) for name in (_BATCH, _LOCALS, *self.taken)]
        function = ast.FunctionDef(
            name="part_of_batch",
            args=ast.arguments([], arguments, None, [], [], None, []),
            body=[bind, *statements, end],
            decorator_list=[],
            **where,
        )
        if "type_params" in ast.FunctionDef._fields:
            function.type_params = []  # type: ignore[attr-defined, unused-ignore]
        module = ast.fix_missing_locations(ast.Module([function], []))
        # With the script's own file and lines: memory and errors belong there.
        code = compile(module, frame.f_code.co_filename, "exec", dont_inherit=True)
        inner = next(constant for constant in code.co_consts if hasattr(constant, "co_code"))
        return FunctionType(inner.replace(co_name=frame.f_code.co_name), frame.f_globals)

    def run(self, batch: Any, frame: FrameType) -> dict[str, Any]:
        """What the variables are afterwards that something else reads."""
        there = frame.f_locals
        missing = [name for name in self.taken if name not in there]
        if missing:
            raise NotUnderstood(f"`{missing[0]}` has no value yet at the beginning of the iteration")
        call: Callable[..., dict[str, Any]] = self._function
        names = call(batch, builtins.locals, *(there[name] for name in self.taken))
        return {name: names[name] for name in self.results if name in names}
