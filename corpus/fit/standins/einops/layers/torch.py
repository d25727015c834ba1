"""Modules of the same."""

from __future__ import annotations

from typing import Any

from torch import nn

from .. import rearrange, reduce


class Rearrange(nn.Module):
    def __init__(self, pattern: str, **known: int) -> None:
        super().__init__()
        self.pattern, self.known = pattern, known

    def forward(self, tensor: Any) -> Any:
        return rearrange(tensor, self.pattern, **self.known)


class Reduce(nn.Module):
    def __init__(self, pattern: str, how: str, **known: int) -> None:
        super().__init__()
        self.pattern, self.how, self.known = pattern, how, known

    def forward(self, tensor: Any) -> Any:
        return reduce(tensor, self.pattern, self.how, **self.known)
