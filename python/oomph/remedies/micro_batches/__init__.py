"""Runs each batch in parts whose gradients add up to those of the whole: one part is in memory at a time.

By hand, in a loop of one's own:

    for batch in loader:
        optimizer.zero_grad()
        for (images, labels), weight in oomph.micro_batches(batch, parts=4):
            loss = criterion(model(images), labels)
            (loss * weight).backward()
        optimizer.step()

In a script that knows nothing of it, `install` reads the loop: what depends on the batch, up to `backward()`, runs for
every part, and everything else once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, TypeVar

from ..desk import Desk
from . import frameworks, splitting
from .counting import Counting
from .loaders import Loaders

Batch = TypeVar("Batch")


def micro_batches(
    batch: Batch, parts: int, counted: Callable[[Batch], float] | None = None
) -> Iterator[tuple[Batch, float]]:
    """Yields the parts of a batch, each with what its mean loss weighs in that of the whole.

    A batch is a tensor, or lists, tuples, dictionaries and dataclasses of tensors with one first dimension. A part
    weighs its share of the rows. Where a mean leaves items out, `counted` says how many of a batch count:
    `counted=lambda batch: (batch["labels"] != -100).sum()`. A loss that is a sum needs no weights.
    """
    rows = splitting.rows_of(batch)
    if rows is None:
        raise ValueError("the tensors of the batch do not have one first dimension, so it has no rows to split by")
    sizes = splitting.sizes_of_parts(rows.count, parts)
    total = float(rows.count if counted is None else counted(batch))
    for part, size in zip(splitting.split(batch, rows, sizes), sizes):
        weight = float(size if counted is None else counted(part))
        yield part, (weight / total if total else 0.0)


def install(torch: ModuleType, desk: Desk, parts: int = 4, values: bool | None = None) -> None:
    """Puts it into this process. `values` is False on a card that computes nothing: then losses are not compared."""
    counting = Counting()
    counting.knows_values = "oomph.hollow" not in sys.modules if values is None else values
    counting.install(torch)
    loaders = Loaders(torch, desk, parts, counting)
    loaders.install()
    frameworks.install(loaders)
