"""Keeps each step's flat gradient to look at the angle to the one before it."""

import os

import torch
from torch import nn


class GradientHistory:
    """Cosine between successive gradients, as in 'how noisy is my batch size'."""

    def __init__(self, params):
        self.params = list(params)
        self.flat = []

    def record(self):
        g = torch.cat([p.grad.reshape(-1) for p in self.params])  # leak
        self.flat.append(g)  # leak

    def cosine(self):
        if len(self.flat) < 2:
            return 0.0
        a, b = self.flat[-1], self.flat[-2]
        return torch.nn.functional.cosine_similarity(a, b, dim=0).item()


def main():
    device = "cuda"
    net = nn.Sequential(nn.Linear(400, 800), nn.ReLU(), nn.Linear(800, 400)).to(device)
    optim = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(optim, T_max=100)
    history = GradientHistory(net.parameters())
    for step in range(int(os.environ.get("STEPS", 60))):
        x = torch.randn(64, 400, device=device)
        loss = nn.functional.mse_loss(net(x), x)
        optim.zero_grad()
        loss.backward()
        history.record()  # leak
        optim.step()
        sched.step()
        print(f"step {step} loss {loss.item():.4f} cos {history.cosine():+.3f}")


main()
