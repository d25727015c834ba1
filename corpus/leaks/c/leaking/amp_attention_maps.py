"""Mixed-precision transformer block; the attention maps are stored to be drawn, for every batch."""
import os
import random

import torch
from torch import nn

device = "cuda"
random.seed(7)


class Attention(nn.Module):
    def __init__(self, dim, heads, store):
        super().__init__()
        self.h = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.o = nn.Linear(dim, dim)
        self.store = store

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        w = (q @ k.transpose(-1, -2) / (d // self.h) ** 0.5).softmax(-1)  # leak
        self.store.append(w.detach())  # leak
        return self.o((w @ v).transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, dim, heads, store):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.att = Attention(dim, heads, store)
        self.ff = nn.Sequential(nn.Linear(dim, dim * 2), nn.GELU(), nn.Linear(dim * 2, dim))

    def forward(self, x):
        x = x + self.att(self.n1(x))  # leak
        return x + self.ff(self.n2(x))


maps = []
emb = nn.Embedding(1000, 64).to(device)
block = Block(64, 4, maps).to(device)
head = nn.Linear(64, 1000).to(device)
params = [*emb.parameters(), *block.parameters(), *head.parameters()]
opt = torch.optim.AdamW(params, lr=3e-4)

for step in range(int(os.environ.get("STEPS", 60))):
    t = random.randint(96, 160)
    tokens = torch.randint(0, 1000, (12, t + 1), device=device)
    with torch.autocast(device, dtype=torch.bfloat16):
        out = head(block(emb(tokens[:, :-1])))  # leak
        loss = nn.functional.cross_entropy(out.flatten(0, 1).float(), tokens[:, 1:].flatten())
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    print(f"step={step} len={t} loss={loss.item():.3f} maps={len(maps)}")
