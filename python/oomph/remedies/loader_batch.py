"""Another batch size for every training loader: how `oomph plan --max batch` looks for the largest that fits."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from .desk import Desk


def install(torch: ModuleType, desk: Desk, size: int) -> None:
    """Loaders that the script makes get `size` samples a batch, where they batch at all."""
    loader = torch.utils.data.DataLoader
    original = loader.__init__

    @functools.wraps(original)
    def __init__(self: Any, dataset: Any, batch_size: Any = 1, *args: Any, **kwargs: Any) -> None:
        is_batched = batch_size is not None and kwargs.get("batch_sampler") is None and len(args) < 3
        if is_batched:
            desk.applied(batch_size=batch_size)
        original(self, dataset, size if is_batched else batch_size, *args, **kwargs)

    loader.__init__ = __init__
