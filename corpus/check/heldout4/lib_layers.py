"""smalltrain.layers: a feed-forward block with a choice of activation."""
import torch
import torch.nn.functional as F
from torch import nn


class GatedFF(nn.Module):
    def __init__(self, dim: int, mult: int = 4, kind: str = "swiglu"):
        super().__init__()
        self.up = nn.Linear(dim, 2 * mult * dim)
        self.down = nn.Linear(mult * dim, dim)
        self.act = self._swiglu if kind == "swiglu" else self._geglu

    def _swiglu(self, x):
        a, b = self.up(x).chunk(2, dim=-1)
        return F.silu(a) * b

    def _geglu(self, x):
        a, b = self.up(x).chunk(2, dim=-1)
        return F.gelu(a) * b

    def forward(self, x):
        return self.down(self.act(x))


class Stack(nn.Module):
    def __init__(self, dim: int, depth: int, kind: str):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(depth))
        self.blocks = nn.ModuleList(GatedFF(dim, kind=kind) for _ in range(depth))

    def forward(self, x):
        for n, b in zip(self.norms, self.blocks):
            x = x + b(n(x))
        return x


def sweep(loader, dims=(1024, 2048, 4096), kinds=("swiglu", "geglu")):
    scores = {}
    for d in dims:
        for kind in kinds:
            net = Stack(d, 12, kind).cuda()
            opt = torch.optim.AdamW(net.parameters(), 1e-4)
            for x in loader(d):
                x = x.cuda()
                loss = F.mse_loss(net(x), x.roll(1, 0))
                opt.zero_grad()
                loss.backward()
                opt.step()
            scores[d, kind] = loss.item()
    return scores
