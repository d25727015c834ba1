"""A map-style dataset with a cache of decoded crops; the random crop is in the key, so nothing is found again.

The cache lives in the persistent DataLoader workers.
"""
import os
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Crops(Dataset):
    def __init__(self, n, size=128):
        self.n = n
        self.size = size
        self.cache = {}

    def __len__(self):
        return self.n

    def decode(self, idx, top, left):
        rng = np.random.default_rng(idx)
        img = rng.random((self.size + 16, self.size + 16, 3), dtype=np.float32)
        return img[top : top + self.size, left : left + self.size].copy()  # leak

    def __getitem__(self, idx):
        key = (idx, random.random(), random.random())
        if key not in self.cache:
            top, left = int(key[1] * 16), int(key[2] * 16)
            self.cache[key] = self.decode(idx, top, left)  # leak
        return torch.from_numpy(self.cache[key]).permute(2, 0, 1), idx % 5


def main():
    device = "cuda"
    per_epoch = 15
    epochs = int(os.environ.get("STEPS", 60)) // per_epoch
    loader = DataLoader(Crops(per_epoch * 12), batch_size=12, shuffle=True, num_workers=2, persistent_workers=True)
    net = nn.Sequential(nn.Conv2d(3, 8, 3, stride=4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
    net.to(device)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(epochs):
        for i, (x, y) in enumerate(loader):  # leak
            loss = nn.functional.cross_entropy(net(x.to(device)), y.to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
            print(f"epoch {epoch} it {i} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
