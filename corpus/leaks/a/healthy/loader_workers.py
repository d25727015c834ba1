"""A DataLoader with two workers and pinned memory over a data set made on the fly."""

import os

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

steps = int(os.environ.get("STEPS", 30))


class Noise(Dataset):
    def __len__(self):
        return steps * 16

    def __getitem__(self, index):
        return torch.randn(3, 64, 64), index % 10


def main():
    model = nn.Sequential(nn.Conv2d(3, 16, 7, stride=4), nn.ReLU(), nn.Flatten(), nn.Linear(3600, 10)).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Noise(), batch_size=16, num_workers=2, pin_memory=True)
    for step, (x, y) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
        opt.zero_grad()
        loss.backward()
        opt.step()
        print("step", step, loss.item())


if __name__ == "__main__":
    main()
