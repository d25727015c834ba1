"""Sequence length and batch size grow for the first eight steps and are constant after that."""
import os

import torch
from torch import nn

device = "cuda"
WARM = 8


class MLPMixer(nn.Module):
    def __init__(self, dim=96, max_len=128):
        super().__init__()
        self.emb = nn.Embedding(256, dim)
        self.pos = nn.Parameter(torch.zeros(max_len, dim))
        self.ff = nn.Sequential(nn.Linear(dim, 3 * dim), nn.GELU(), nn.Linear(3 * dim, dim))
        self.head = nn.Linear(dim, 256)

    def forward(self, ids):
        h = self.emb(ids) + self.pos[: ids.shape[1]]
        h = h.cumsum(1) / torch.arange(1, ids.shape[1] + 1, device=ids.device)[:, None]
        return self.head(h + self.ff(h))


def schedule(step):
    f = min(step, WARM) / WARM
    return int(4 + 20 * f), int(16 + 112 * f)


model = MLPMixer().to(device)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
kept_last = None
for step in range(int(os.environ.get("STEPS", 60))):
    bs, n = schedule(step)
    ids = torch.randint(0, 256, (bs, n + 1), device=device)
    logits = model(ids[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    kept_last = (step, logits)
    print(f"step {step} bs {bs} len {n} loss {loss.item():.4f}")
