"""GCN on sampled subgraphs; each conv remembers the normalised adjacency of every graph it has seen."""
import os
import random
from dataclasses import dataclass

import torch
from torch import nn

device = "cuda"
random.seed(1)


@dataclass(eq=False)
class Graph:
    x: torch.Tensor
    adj: torch.Tensor
    y: torch.Tensor


def sample_subgraph(feats=32, classes=7):
    n = random.randint(450, 800)
    src = torch.randint(0, n, (n * 6,))
    dst = torch.randint(0, n, (n * 6,))
    adj = torch.zeros(n, n)
    adj[src, dst] = 1.0
    return Graph(
        torch.randn(n, feats).to(device),
        adj.to(device),  # leak
        torch.randint(0, classes, (n,)).to(device),
    )


class GCNConv(nn.Module):
    _memo = {}

    def __init__(self, i, o):
        super().__init__()
        self.lin = nn.Linear(i, o)

    def norm(self, g):
        if g not in self._memo:
            a = g.adj + torch.eye(g.adj.shape[0], device=g.adj.device)
            d = a.sum(1).rsqrt()
            self._memo[g] = d[:, None] * a * d[None, :]  # leak
        return self._memo[g]

    def forward(self, g, x):
        return self.norm(g) @ self.lin(x)  # leak


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = GCNConv(32, 64), GCNConv(64, 7)

    def forward(self, g):
        h = self.c1(g, g.x).relu()  # leak
        return self.c2(g, h)


model = GCN().to(device)
opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for it in range(int(os.environ.get("STEPS", 60))):
    g = sample_subgraph()  # leak
    loss = nn.functional.cross_entropy(model(g), g.y)  # leak
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"iter {it:03d} nodes {g.x.shape[0]} loss {loss.item():.3f}")
