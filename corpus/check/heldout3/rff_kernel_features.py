"""Random Fourier features in front of a linear head, whole thing on the GPU."""
import numpy as np
import torch
from torch.utils.data import DataLoader


class RFF:
    def __init__(self, d_in: int, n_features: int, gamma: float, seed: int = 0):
        rng = np.random.default_rng(seed)
        self.w = torch.tensor(rng.normal(scale=np.sqrt(2 * gamma), size=(d_in, n_features)), device="cuda")
        self.b = torch.tensor(rng.uniform(0, 2 * np.pi, size=n_features), device="cuda")
        self.scale = (2.0 / n_features) ** 0.5

    def __call__(self, x):
        return self.scale * torch.cos(x.to(self.w.dtype) @ self.w + self.b)


def train_head(loader: DataLoader, rff: RFF, classes: int, epochs: int = 20, lr: float = 0.1):
    head = torch.nn.Linear(rff.b.numel(), classes).cuda()
    opt = torch.optim.SGD(head.parameters(), lr=lr, momentum=0.9)
    for epoch in range(epochs):
        for x, y in loader:
            z = rff(x.flatten(1).cuda()).float()
            loss = torch.nn.functional.cross_entropy(head(z), y.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())
    return head


@torch.no_grad()
def accuracy(loader, rff, head):
    good = n = 0
    for x, y in loader:
        pred = head(rff(x.flatten(1).cuda()).float()).argmax(1)
        good += (pred.cpu() == y).sum().item()
        n += len(y)
    return good / n
