"""What makes a job take less memory: one file a remedy.

Each remedy can be had in two ways. `install(torch, desk, **options)` puts it into a job that knows nothing of it, which
is what `oomph plan --fit` and `oomph run --fit` do: in both the very same code. And a small function does the same by
hand, for whoever prefers to own it: `import oomph; oomph.checkpoint_blocks(model)`.

A remedy that meets something it does not understand leaves the script as it was and says so, in one sentence.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

from .desk import Desk

#: In the order in which they are put in: what changes the model comes before what wraps its calls, and what holds
#: optimizer steps back comes last, around everything else.
NAMES = (
    "small_workspaces",
    "loader_batch",
    "quantize",
    "distill",
    # Of what is done when an optimizer is made, the last comes first: a model is divided as it is trained.
    "fsdp",
    "prune",
    "lora",
    "lazy_logits",
    "checkpoint_blocks",
    "offload_activations",
    "message_parts",
    "chunk_calls",
    "chunk_evaluation",
    "recompute_unused_graphs",
    "outputs_to_host",
    "autocast",
    "bf16_weights",
    "quantized_optimizer",
    "lean_optimizer",
    "optimizer_on_host",
    "step_in_backward",
    "micro_batches",
    "bounded_loaders",
)


def install(torch: ModuleType, wanted: Iterable[Mapping[str, Any]], desk: Desk, guard: Callable[[Any], Any]) -> None:
    """Puts remedies into this process: each a mapping with its `name` and its options. Each goes through `guard`."""
    chosen = sorted(wanted, key=lambda choice: NAMES.index(choice["name"]))
    for choice in chosen:
        options = {key: value for key, value in choice.items() if key != "name"}
        remedy = importlib.import_module(f".{choice['name']}", __name__)
        guard(remedy.install)(torch, desk.for_remedy(choice["name"]), **options)
