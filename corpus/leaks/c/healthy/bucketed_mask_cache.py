"""Causal masks from an lru_cache; the lengths are rounded up to eight buckets."""
import functools
import os
import random

import torch
from torch import nn

device = "cuda"
rng = random.Random(11)
BUCKETS = [64 * i for i in range(1, 9)]


@functools.lru_cache(maxsize=16)
def causal_mask(n):
    return torch.full((n, n), float("-inf"), device=device).triu(1)


class Decoder(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.emb = nn.Embedding(500, dim)
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))
        self.head = nn.Linear(dim, 500)

    def forward(self, ids):
        h = self.emb(ids)
        scores = self.q(h) @ self.k(h).transpose(1, 2) / 8 + causal_mask(ids.shape[1])
        return self.head(scores.softmax(-1) @ self.v(h))


model = Decoder().to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
order = BUCKETS + [rng.choice(BUCKETS) for _ in range(1000)]
for step in range(int(os.environ.get("STEPS", 60))):
    n = order[step]
    ids = torch.randint(0, 500, (4, n + 1), device=device)
    loss = nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"step {step} len {n} loss {loss.item():.3f} masks {causal_mask.cache_info().currsize}")
