"""Every batch's activations get a weakref.finalize on the model, meant to free them when the model goes."""
import os
import weakref

import torch
from torch import nn

device = "cuda"


class ActivationArena:
    def __init__(self):
        self.released = 0

    def release(self, block):
        self.released += block.numel()

    def lease(self, owner, shape):
        block = torch.empty(shape, device=device)  # leak
        weakref.finalize(owner, self.release, block)  # leak
        return block


class Normaliser(nn.Module):
    def __init__(self, arena):
        super().__init__()
        self.arena = arena
        self.fc = nn.Linear(256, 256)

    def forward(self, x):
        h = self.fc(x)
        out = self.arena.lease(self, h.shape)  # leak
        torch.sub(h, h.mean(0, keepdim=True), out=out)
        return out


arena = ActivationArena()
model = Normaliser(arena).to(device).eval()
with torch.no_grad():
    for i in range(int(os.environ.get("STEPS", 60))):
        x = torch.randn(1400, 256, device=device)
        z = model(x)  # leak
        print(f"batch {i}: var {z.var().item():.4f}")
