"""Message passing on subgraphs of any size, with an LRU of five prepared graphs."""
import os
import random
from collections import OrderedDict

import torch
from torch import nn

device = "cuda"
random.seed(9)


class GraphLRU:
    def __init__(self, cap=5):
        self.cap = cap
        self.items = OrderedDict()

    def get(self, seed):
        if seed in self.items:
            self.items.move_to_end(seed)
            return self.items[seed]
        g = torch.Generator().manual_seed(seed)
        n = int(torch.randint(400, 900, (1,), generator=g))
        adj = (torch.rand(n, n, generator=g) < 0.02).float()
        adj = (adj / adj.sum(1, keepdim=True).clamp(min=1)).to(device)
        x = torch.randn(n, 48, generator=g).to(device)
        self.items[seed] = (x, adj)
        while len(self.items) > self.cap:
            self.items.popitem(last=False)
        return x, adj


class MPNN(nn.Module):
    def __init__(self, dim=48, layers=3):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2 * dim, dim) for _ in range(layers))

    def forward(self, x, adj):
        for lin in self.layers:
            x = x + lin(torch.cat([x, adj @ x], -1)).relu()
        return x.mean(0)


lru, model = GraphLRU(), MPNN().to(device)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for it in range(int(os.environ.get("STEPS", 60))):
    x, adj = lru.get(random.randint(0, 40))
    loss = model(x, adj).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"it {it} nodes {x.shape[0]} cached {len(lru.items)} loss {loss.item():.4f}")
