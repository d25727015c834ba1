"""Shape completion; chamfer on 16k points."""
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


def chamfer(p, q):
    # p: B,N,3  q: B,M,3
    d = torch.cdist(p, q)
    return d.min(2).values.mean() + d.min(1).values.mean()


class Folding(nn.Module):
    def __init__(self, n=16384, depth=6):
        super().__init__()
        self.grid = nn.Parameter(torch.rand(1, n, 2) * 2 - 1, requires_grad=False)
        self.inp = nn.Linear(2 + 512, 512)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(512, 512), nn.ReLU()) for _ in range(depth))
        self.out = nn.Linear(512, 3)

    def forward(self, code):
        g = self.grid.repeat(code.size(0), 1, 1)
        c = code.unsqueeze(1).expand(-1, g.size(1), -1)
        x = self.inp(torch.cat([g, c], -1))
        for l in self.layers:
            x = checkpoint(l, x)
        return self.out(x)


def train(enc, loader, epochs=100):
    dec = Folding().cuda()
    opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-4)
    for ep in range(epochs):
        for partial, full in loader:
            loss = chamfer(dec(enc(partial.cuda())), full.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(ep, loss.item())
