"""Whether something that is computed sends to other processes on its way.

What sends nothing can be done again by one process alone: the others wait for it a little longer, at the next thing that
they exchange, and nothing else changes for them. What sends something cannot: the others are in the middle of it by
then, where nothing can be agreed, and would take what is sent the second time for what should come next.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

#: Where PyTorch keeps its operators that exchange something between processes.
_NAMESPACES = ("c10d", "_c10d_functional", "_c10d_functional_autograd", "c10d_functional")


@dataclass
class Heard:
    """What was heard so far."""

    is_sending: bool = False


def is_alone(torch: ModuleType) -> bool:
    """Whether no other process takes part in what this one computes."""
    distributed = torch.distributed
    return not (distributed.is_available() and distributed.is_initialized()) or distributed.get_world_size() == 1


@contextlib.contextmanager
def listening(torch: ModuleType) -> Iterator[Heard]:
    """Hears whether something is sent to other processes, where there are others."""
    heard = Heard()
    if is_alone(torch):
        yield heard
        return
    from torch.utils._python_dispatch import TorchDispatchMode

    class Listening(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            # What a tensor of its own kind does inside, one that is divided say, is not heard: it may send.
            is_plain = all(kind in (torch.Tensor, torch.nn.Parameter) for kind in types)
            heard.is_sending |= func.namespace in _NAMESPACES or not is_plain
            return func(*args, **(kwargs or {}))

    with Listening():
        yield heard
