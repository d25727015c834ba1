"""Beams whose nodes refer to parent and children; the cycles wait for the gc.collect() of every fourth query."""
import gc
import os

import torch
from torch import nn

device = "cuda"


class Hyp:
    def __init__(self, state, parent=None):
        self.state, self.parent = state, parent
        self.kids = []
        if parent is not None:
            parent.kids.append(self)

    def depth(self):
        return 0 if self.parent is None else 1 + self.parent.depth()


class Step(nn.Module):
    def __init__(self, dim=256):
        super().__init__()
        self.f = nn.Linear(dim, dim)

    def forward(self, s):
        return torch.tanh(self.f(s))


@torch.no_grad()
def beam_search(model, start, width=2, depth=4):
    root = Hyp(start)
    beam = [root]
    for _ in range(depth):
        grown = [Hyp(model(h.state + 0.01 * k), h) for h in beam for k in range(width)]
        beam = grown[:width]
    return root, beam


model = Step().to(device).eval()
for q in range(int(os.environ.get("STEPS", 60))):
    root, beam = beam_search(model, torch.randn(256, 256, device=device))
    score = beam[0].state.mean().item()
    if q % 4 == 3:
        gc.collect()
    print(f"query {q}: depth {beam[0].depth()} score {score:.4f}")
