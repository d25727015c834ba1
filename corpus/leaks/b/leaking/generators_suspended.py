"""Decoders are generators; the ones that were not run to their end stay suspended in a list, state and all."""

import os
from collections.abc import Iterator

import torch
import torch.nn as nn


def decode(cell: nn.GRUCell, prompt: torch.Tensor, limit: int) -> Iterator[int]:
    state = torch.zeros(len(prompt), 512, device="cuda")
    for _ in range(limit):
        state = cell(prompt, state)  # leak
        yield int(state.argmax().item())


def main() -> None:
    cell = nn.GRUCell(256, 512).cuda().requires_grad_(False)
    running: list[Iterator[int]] = []
    for request in range(int(os.environ.get("STEPS", 30))):
        prompt = torch.randn(700, 256, device="cuda")  # leak
        stream = decode(cell, prompt, limit=100)
        tokens = [next(stream) for _ in range(5)]  # leak
        running.append(stream)  # leak
        print("request", request, tokens, "streams", len(running))


main()
