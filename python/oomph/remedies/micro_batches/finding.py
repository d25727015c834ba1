"""Where a loop over a loader stands in the source, and what lies between the loader and the loop."""

from __future__ import annotations

import ast
import ctypes
import functools
import itertools
import linecache
import os
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from ...source_lines import is_users

_OWN = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def loop_frame(frame: FrameType | None) -> FrameType | None:
    """The frame whose loop takes the items that `frame` asks for; generators that pass items on do not count."""
    while frame is not None and (_is_own(frame.f_code.co_filename) or passes_items_on(frame.f_code)):
        frame = frame.f_back
    return frame


def _is_own(path: str) -> bool:
    return path.startswith(_OWN)


def is_in_library(frame: FrameType) -> bool:
    """Whether the code is not the user's own."""
    return not is_users(frame.f_code.co_filename)


@functools.lru_cache(maxsize=16)
def source_of(path: str) -> ast.Module | None:
    """The source of a file, or of a notebook's cell, as Python reads it."""
    lines = linecache.getlines(path)
    try:
        return ast.parse("".join(lines)) if lines else None
    except (SyntaxError, ValueError, RecursionError):
        return None


@functools.lru_cache(maxsize=64)
def loop_at(path: str, line: int) -> tuple[ast.For, ast.AST] | None:
    """The `for` that asks for its next item on this line, and the function or module it stands in."""
    tree = source_of(path)
    found = None
    for scope, loop in _loops(tree, tree) if tree is not None else ():
        if loop.lineno <= line <= (loop.iter.end_lineno or loop.iter.lineno):
            found = (loop, scope)
    return found


def _loops(node: ast.AST, scope: ast.AST) -> Iterator[tuple[ast.AST, ast.For]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.For):
            yield scope, child
        yield from _loops(child, child if isinstance(child, _SCOPES) else scope)


@functools.lru_cache(maxsize=64)
def passes_items_on(code: CodeType) -> bool:
    """Whether this generator yields the items of something else, each unchanged and before it asks for the next."""
    tree = source_of(code.co_filename)
    scopes = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)) if tree is not None else ()
    for scope in scopes:
        first_line = min([scope.lineno, *(decorator.lineno for decorator in scope.decorator_list)])
        if scope.name != code.co_name or code.co_firstlineno not in (scope.lineno, first_line):
            continue
        inside = [node for node in ast.walk(scope) if isinstance(node, (ast.Yield, ast.YieldFrom))]
        return bool(inside) and all(_is_passed_on(node, scope) for node in inside)
    return False


def _is_passed_on(node: ast.Yield | ast.YieldFrom, scope: ast.FunctionDef) -> bool:
    if isinstance(node, ast.YieldFrom):
        return not isinstance(node.value, ast.Call)
    if not isinstance(node.value, ast.Name):
        return False
    name = node.value.id
    stores = [part for part in ast.walk(scope) if isinstance(part, ast.Name) and part.id == name and not _is_load(part)]
    loops = [part for part in ast.walk(scope) if isinstance(part, ast.For)]
    is_item = [loop for loop in loops if isinstance(loop.target, ast.Name) and loop.target.id == name]
    return len(stores) == len(is_item) == 1 and any(part is node for part in ast.walk(is_item[0]))


def _is_load(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def target_of(loop: ast.For, frame: FrameType) -> ast.expr | None:
    """What of the loop's target is the batch: `for i, batch in enumerate(...)` has a number beside it.

    None where something without Python frames stands between (`zip`), which may have changed the items.
    """
    target, source = loop.target, loop.iter
    while isinstance(source, ast.Call):
        called = _value_of(source.func, frame)
        if called is enumerate:
            if not isinstance(target, (ast.Tuple, ast.List)) or len(target.elts) != 2:
                return None
            target = target.elts[1]
        elif isinstance(called, type) and called.__module__ in ("builtins", "itertools"):
            if called is not itertools.islice:
                return None
        source = source.args[0] if source.args else ast.Constant(None)
    return target


def _value_of(node: ast.expr, frame: FrameType) -> Any:
    if isinstance(node, ast.Name):
        for names in (frame.f_locals, frame.f_globals, frame.f_builtins):
            if node.id in names:
                return names[node.id]
    if isinstance(node, ast.Attribute):
        return getattr(_value_of(node.value, frame), node.attr, None)
    return None


def assign(frame: FrameType, values: dict[str, Any]) -> None:
    """Gives variables of a running frame other values."""
    names = frame.f_locals
    names.update(values)
    if sys.version_info < (3, 13) and names is not frame.f_globals:
        # Before PEP 667 the dictionary was a copy, which this writes back; debuggers do the same.
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
