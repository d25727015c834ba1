"""Keeps PyTorch jobs inside their memory.

Whoever owns a script can put remedies into it by hand, with the functions named here, such as
`oomph.checkpoint_blocks(model)`. Each has a page: `oomph doc checkpoint_blocks`. torch is imported when one is called,
not before.

The rest runs inside the processes of a job that `oomph plan` or `oomph run` has started, and is not meant to be
imported by a script. torch is imported by the script, when and how it likes: everything here waits for that.

- `remedies`: what makes a job take less memory.
- `watching`: steps, phases, modules, loops, and what each block is for, on any card.
- `running`: real runs.
- `hollow`: what makes a run on a card that is not there come out as on one that is: values, reads, checkpoints, the
  other processes of a distributed job, the cost on the host.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .remedies.autocast import autocast as autocast
    from .remedies.bf16_weights import bf16_weights as bf16_weights
    from .remedies.bounded_loaders import bounded_loader as bounded_loader
    from .remedies.checkpoint_blocks import checkpoint_blocks as checkpoint_blocks
    from .remedies.chunk_calls import chunk_calls as chunk_calls
    from .remedies.chunk_evaluation import chunk_evaluation as chunk_evaluation
    from .remedies.distill import distill as distill
    from .remedies.fsdp import fsdp as fsdp
    from .remedies.lazy_logits import lazy_logits as lazy_logits
    from .remedies.lean_optimizer import lean_optimizer as lean_optimizer
    from .remedies.lora import lora as lora
    from .remedies.message_parts import message_parts as message_parts
    from .remedies.micro_batches import micro_batches as micro_batches
    from .remedies.offload_activations import offload_activations as offload_activations
    from .remedies.optimizer_on_host import optimizer_on_host as optimizer_on_host
    from .remedies.outputs_to_host import outputs_to_host as outputs_to_host
    from .remedies.prune import prune as prune
    from .remedies.quantize import quantize as quantize
    from .remedies.quantized_optimizer import quantized_optimizer as quantized_optimizer
    from .remedies.recompute_unused_graphs import recompute_unused_graphs as recompute_unused_graphs
    from .remedies.small_workspaces import small_workspaces as small_workspaces
    from .remedies.step_in_backward import step_in_backward as step_in_backward

#: Editors and type checkers want the names written down. Most live in a module of their own name.
__all__ = [
    "autocast",
    "bf16_weights",
    "bounded_loader",
    "checkpoint_blocks",
    "chunk_calls",
    "chunk_evaluation",
    "distill",
    "fsdp",
    "lazy_logits",
    "lean_optimizer",
    "lora",
    "message_parts",
    "micro_batches",
    "offload_activations",
    "optimizer_on_host",
    "outputs_to_host",
    "prune",
    "quantize",
    "quantized_optimizer",
    "recompute_unused_graphs",
    "small_workspaces",
    "step_in_backward",
]
_OTHER_MODULES = {"bounded_loader": "bounded_loaders"}


def __getattr__(name: str) -> Any:
    """Imports a function when it is asked for: `import oomph` alone costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f".remedies.{_OTHER_MODULES.get(name, name)}", __name__)
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
