"""A data set that caches decoded samples in itself: each DataLoader worker grows."""

import os

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

steps = int(os.environ.get("STEPS", 30))


class Clips(Dataset):
    def __init__(self, count):
        self.count = count
        self.decoded = {}

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index not in self.decoded:
            self.decoded[index] = torch.randn(16, 3, 48, 48)  # leak
        clip = self.decoded[index]
        return clip.mean(0), index % 10


def main():
    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 48 * 48, 10)).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Clips(steps * 8), batch_size=8, num_workers=1)
    for step, (x, y) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
