import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class GPTConfig:
    vocab: int = 50304
    ctx: int = 2048
    dim: int = 768
    heads: int = 12
    layers: int = 12


class Attn(nn.Module):
    def __init__(self, c: GPTConfig):
        super().__init__()
        self.c = c
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(c.dim, c.dim, bias=False) for _ in range(4))

    def split(self, t):
        return t.unflatten(-1, (self.c.heads, -1)).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.wq(x)), self.split(self.wk(x)), self.split(self.wv(x))
        n = x.size(1)
        allowed = torch.tril(torch.ones(n, n, device=x.device))
        s = q.matmul(k.mT) * (1 / math.sqrt(q.size(-1)))
        s = s.masked_fill(allowed == 0, -torch.inf)
        p = F.softmax(s, -1)
        return self.wo(p.matmul(v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(c.dim), nn.LayerNorm(c.dim)
        self.attn = Attn(c)
        self.mlp = nn.Sequential(nn.Linear(c.dim, 4 * c.dim), nn.GELU(), nn.Linear(4 * c.dim, c.dim))

    def forward(self, x):
        x = x + self.attn(self.n1(x))
        return x + self.mlp(self.n2(x))


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tok, self.pos = nn.Embedding(c.vocab, c.dim), nn.Embedding(c.ctx, c.dim)
        self.blocks = nn.Sequential(*(Block(c) for _ in range(c.layers)))
        self.norm, self.c = nn.LayerNorm(c.dim), c

    def forward(self, ids, targets):
        x = self.tok(ids) + self.pos.weight[: ids.size(1)]
        logits = self.norm(self.blocks(x)) @ self.tok.weight.T
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=0.1)


def main():
    c = GPTConfig()
    net = GPT(c).cuda()
    opt = torch.optim.AdamW(net.parameters(), 3e-4)
    data = np.memmap("train.bin", np.uint16)
    for step in range(100_000):
        at = np.random.randint(0, len(data) - c.ctx - 1, 4)
        chunk = torch.from_numpy(np.stack([data[a:a + c.ctx + 1] for a in at]).astype(np.int64)).cuda()
        with torch.autocast("cuda", torch.bfloat16):
            loss = net(chunk[:, :-1], chunk[:, 1:])
        opt.zero_grad()
        loss.backward()
        opt.step()


if __name__ == "__main__":
    main()
