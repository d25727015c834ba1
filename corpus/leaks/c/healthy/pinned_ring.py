"""Feeds the card from a ring of four pinned buffers, which are made when first wanted."""
import os
import random

import torch
from torch import nn

device = "cuda"
random.seed(21)


class PinnedRing:
    def __init__(self, slots, max_rows, cols):
        self.bufs = [None] * slots
        self.max_rows, self.cols = max_rows, cols
        self.turn = 0

    def stage(self, rows):
        i = self.turn % len(self.bufs)
        self.turn += 1
        if self.bufs[i] is None:
            self.bufs[i] = torch.zeros(self.max_rows, self.cols, pin_memory=True)
        view = self.bufs[i][: rows.shape[0]]
        view.copy_(rows)
        return view


ring = PinnedRing(4, 1200, 512)
model = nn.Sequential(nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 512)).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for i in range(int(os.environ.get("STEPS", 60))):
    rows = torch.randn(random.randint(200, 1200), 512)
    x = ring.stage(rows).to(device, non_blocking=True)
    loss = (model(x) - x).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"iter {i} rows {len(rows)} loss {loss.item():.4f}")
