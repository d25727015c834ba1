"""Exponential moving average of the weights with swap-in for evaluation."""
import os

import torch
from torch import nn

device = "cuda"


class EMA:
    def __init__(self, model, decay=0.999):
        self.model, self.decay = model, decay
        self.shadow, self.backup = {}, {}
        for name, p in model.named_parameters():
            self.shadow[name] = p.data.clone()

    def update(self):
        for name, p in self.model.named_parameters():
            new = (1.0 - self.decay) * p.data + self.decay * self.shadow[name]
            self.shadow[name] = new.clone()

    def apply_shadow(self):
        for name, p in self.model.named_parameters():
            self.backup[name] = p.data
            p.data = self.shadow[name]

    def restore(self):
        for name, p in self.model.named_parameters():
            p.data = self.backup[name]
        self.backup = {}


net = nn.Sequential(nn.Linear(300, 900), nn.Mish(), nn.Linear(900, 300)).to(device)
ema = EMA(net)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
val = torch.randn(128, 300, device=device)
losses = []
for step in range(int(os.environ.get("STEPS", 60))):
    x = torch.randn(128, 300, device=device)
    loss = nn.functional.mse_loss(net(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update()
    losses.append(loss.item())
    v = float("nan")
    if step % 4 == 0:
        ema.apply_shadow()
        with torch.no_grad():
            v = nn.functional.mse_loss(net(val), val).item()
        ema.restore()
    print(f"{step}: loss {losses[-1]:.4f} ema-val {v:.4f}")
