import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class SpectralConv(nn.Module):
    def __init__(self, c, modes):
        super().__init__()
        self.m = modes
        self.w = nn.Parameter(torch.randn(c, c, modes, modes, 2) / c)

    def forward(self, x):
        f = torch.fft.rfft2(x)
        out = torch.zeros_like(f)
        w = torch.view_as_complex(self.w)
        out[..., :self.m, :self.m] = torch.einsum("bixy,ioxy->boxy", f[..., :self.m, :self.m], w)
        return torch.fft.irfft2(out, s=x.shape[-2:])


class FNO(nn.Module):
    def __init__(self, c=96, modes=32, depth=12):
        super().__init__()
        self.lift = nn.Conv2d(20, c, 1)
        self.spec = nn.ModuleList(SpectralConv(c, modes) for _ in range(depth))
        self.skip = nn.ModuleList(nn.Conv2d(c, c, 1) for _ in range(depth))
        self.head = nn.Conv2d(c, 20, 1)

    def forward(self, x):
        x = self.lift(x)
        for s, k in zip(self.spec, self.skip):
            x = nn.functional.gelu(s(x) + k(x))
        return self.head(x)


def train_step(model, opt, x, y):
    # checkpointing, but the peak in the profiler is the same as before
    x.requires_grad_(True)
    pred = checkpoint(model, x, use_reentrant=False)
    loss = nn.functional.mse_loss(pred, y)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    return loss.item()


def fit(loader, epochs=10):
    model = FNO().cuda()
    opt = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(epochs):
        for x, y in loader:
            train_step(model, opt, x.cuda(), y.cuda())
