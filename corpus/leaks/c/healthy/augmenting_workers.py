"""Persistent DataLoader workers with a bounded cache of base images each, augmented anew every time."""
import os

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Augmented(Dataset):
    def __init__(self, n, bases=6):
        self.n, self.bases = n, bases
        self.cache = {}

    def __len__(self):
        return self.n

    def base(self, k):
        if k not in self.cache:
            self.cache[k] = np.random.default_rng(k).random((3, 128, 128), dtype=np.float32)
        return self.cache[k]

    def __getitem__(self, i):
        img = self.base(i % self.bases)
        rng = np.random.default_rng(i)
        img = np.roll(img, int(rng.integers(0, 128)), axis=2)
        img = img + 0.05 * rng.standard_normal(img.shape, dtype=np.float32)
        return torch.from_numpy(img), i % 4


def collate(items):
    xs, ys = zip(*items)
    return torch.stack(xs), torch.tensor(ys)


def main():
    device = "cuda"
    per_epoch = 15
    loader = DataLoader(Augmented(per_epoch * 8), batch_size=8, shuffle=True, num_workers=2,
                        persistent_workers=True, prefetch_factor=2, collate_fn=collate)
    net = nn.Sequential(nn.Conv2d(3, 8, 5, stride=4), nn.ReLU(), nn.AdaptiveMaxPool2d(2), nn.Flatten(), nn.Linear(32, 4))
    net.to(device)
    opt = torch.optim.Adam(net.parameters())
    seen = 0
    for epoch in range(int(os.environ.get("STEPS", 60)) // per_epoch):
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x.to(device)), y.to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
            seen += len(y)
            print(f"epoch {epoch} seen {seen} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
