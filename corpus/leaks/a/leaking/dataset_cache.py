"""The same mistake without workers: augmented samples are cached under a key that never comes again."""

import os
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

random.seed(3)
steps = int(os.environ.get("STEPS", 30))


class Augmented(Dataset):
    def __init__(self, images):
        self.images = images
        self.cache = {}

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        key = (index, random.random())
        if key not in self.cache:
            self.cache[key] = self.images[index] + 0.1 * torch.randn(3, 64, 64)  # leak
        return self.cache[key], index % 7


data = Augmented(torch.randn(64, 3, 64, 64))
loader = DataLoader(data, batch_size=32, shuffle=True)
model = nn.Sequential(nn.Conv2d(3, 8, 5, stride=4), nn.ReLU(), nn.Flatten(), nn.Linear(1800, 7)).cuda()
opt = torch.optim.Adam(model.parameters())

step = 0
while step < steps:
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step}: cached {len(data.cache)}")
        step += 1
