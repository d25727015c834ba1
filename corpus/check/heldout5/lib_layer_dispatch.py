import torch
from torch import nn
import torch.nn.functional as F


class GatedMLP(nn.Module):
    """`kind` picks the activation; resolved once for speed."""

    def __init__(self, d, hidden, kind="swiglu"):
        super().__init__()
        self.up = nn.Linear(d, 2 * hidden)
        self.down = nn.Linear(hidden, d)
        if kind == "swiglu":
            self.act = self._swiglu
        else:
            self.act = self._geglu

    def _swiglu(self, x):
        a, b = x.chunk(2, -1)
        return F.silu(a) * b

    def _geglu(self, x):
        a, b = x.chunk(2, -1)
        return F.gelu(a) * b

    def forward(self, x):
        return self.down(self.act(self.up(x)))


def compare(widths, batch):
    """Builds one model per width on the same card and times it."""
    res = {}
    for w in widths:
        net = nn.Sequential(*(GatedMLP(2048, w) for _ in range(12))).cuda()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        with torch.no_grad():
            start.record()
            net(batch)
            end.record()
        torch.cuda.synchronize()
        res[w] = start.elapsed_time(end)
    return res
