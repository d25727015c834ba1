"""What a script is made of, for whoever looks for a way to make it take less memory.

Nothing here changes the run: it is told once for each model, optimizer and loader, and what autograd's engine and the
cards' libraries have done by then is counted by the hollow card.
"""

from __future__ import annotations

import ast
import ctypes
import importlib.util
import os
import sys
from types import FrameType, ModuleType
from typing import Any

from ..remedies import chunking, message_parts, models
from ..remedies.desk import Calls
from ..source_lines import is_users
from .recorder import now_us
from .sinks import Telling

#: Measurements of work that are written down together.
BATCH = 4096
#: Optional libraries that a remedy needs.
LIBRARIES = ("torchao", "bitsandbytes")


class Survey:
    """Tells what it sees."""

    def __init__(self, stream: Telling, calls: Calls) -> None:
        self.stream = stream
        self.calls = calls
        self.work = Work(stream)
        self._habits: set[str] = set()

    def install(self, torch: ModuleType) -> None:
        """Looks at every model, optimizer and loader from now on."""
        self.work.install()
        self.calls.before_first(self._on_model)
        for library in LIBRARIES:
            if importlib.util.find_spec(library) is not None:
                self._habit(library)
        self._watch(torch.optim.Optimizer, "__init__", self._on_optimizer)
        self._watch(torch.utils.data.DataLoader, "__init__", self._on_loader)
        self._watch(torch.amp.GradScaler, "scale", lambda *_: self._habit("scales"))
        self._watch(torch.amp.autocast, "__enter__", lambda *_: self._habit("autocasts"))
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            self._watch(torch.nn.utils, name, lambda *_: self._habit("clips"))

    def _watch(self, owner: Any, name: str, seen: Any) -> None:
        original = getattr(owner, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if args:
                seen(args[0])
            return result

        watched.__wrapped__ = original  # type: ignore[attr-defined]
        watched.__name__, watched.__doc__ = name, original.__doc__
        setattr(owner, name, watched)

    def _habit(self, word: str) -> None:
        if word not in self._habits:
            self._habits.add(word)
            self.stream.write("survey", "habit", word)

    def _on_optimizer(self, optimizer: Any) -> None:
        group = optimizer.param_groups[0] if optimizer.param_groups else {}
        # PyTorch takes the grouped way by itself where nobody says otherwise.
        is_grouped = "foreach" in group and group["foreach"] is not False and not group.get("fused")
        told = {"name": type(optimizer).__name__, "has_large_temporaries": is_grouped, "made_at": _made_at(optimizer)}
        self.stream.write("survey", "optimizer", told)

    def _on_loader(self, loader: Any) -> None:
        if isinstance(loader.batch_size, int):
            self.stream.write("survey", "loader", loader.batch_size)

    def _on_model(self, root: Any) -> None:
        inner = models.unwrapped(root)
        prefix = next((f"{path}." for path, module in root.named_modules() if module is inner and path), "")
        heads = [
            {"path": path, "out_features": module.out_features, "in_features": module.in_features}
            for path, module in models.vocabulary_projections(inner).items()
        ]
        told = {
            "label": type(root).__name__,
            "prefix": prefix,
            "batch": self.calls.batch,
            "blocks": list(models.blocks(inner)),
            "heads": heads,
            "message_layers": [path for path, _layer in message_parts.layers(inner)],
            "has_batch_norm": chunking.mixes_samples(inner),
            "divisible": chunking.divisible_part(inner),
            "is_compiled": "_orig_mod" in prefix or getattr(root, "_compiled_call_impl", None) is not None,
            "is_training": bool(root.training),
        }
        self.stream.write("survey", "model", told)


def _made_at(optimizer: Any) -> dict[str, Any] | None:
    """The user's statement that makes an optimizer, and what the script calls it and its model there."""
    from torch import nn

    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return None
    statement = _statement_at(frame.f_code.co_filename, frame.f_lineno)
    if statement is None:
        return None
    trained = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    names = {**frame.f_globals, **frame.f_locals}
    models_there = [
        (sum(id(parameter) in trained for parameter in value.parameters()), name)
        for name, value in names.items()
        if isinstance(value, nn.Module)
    ]
    shared, model = max(models_there, default=(0, ""))
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return {
        "file": os.path.abspath(frame.f_code.co_filename),
        "first_line": statement.lineno,
        "last_line": statement.end_lineno,
        "model": model if shared else None,
        "optimizer": ast.unparse(target) if isinstance(target, (ast.Name, ast.Attribute)) else None,
    }


def _statement_at(path: str, line: int) -> ast.stmt | None:
    """The innermost statement at a line."""
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return None
    found: ast.stmt | None = None
    for node in ast.walk(tree):
        # Later ones lie deeper.
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            found = node
    return found


class Work:
    """The arithmetic that the hollow card has counted, at moments of the run."""

    def __init__(self, stream: Telling) -> None:
        self.stream = stream
        self._counts = (ctypes.c_uint64 * 3)()
        self._read: Any = None
        self._measured: list[int] = []

    def install(self) -> None:
        """Finds the hollow card's counters."""
        self._read = getattr(ctypes.PyDLL(None), "oomph_hollow_work", None)

    def measure(self) -> None:
        """Notes what was done by now."""
        if self._read is not None:
            self._read(self._counts)
            self._measured += (now_us(), *self._counts)
            if len(self._measured) >= 4 * BATCH:
                self.flush()

    def flush(self) -> None:
        """Writes down what was measured so far."""
        if self._measured:
            self.stream.write("work", self._measured)
            self._measured = []
