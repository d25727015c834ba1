from __future__ import annotations

import argparse

import torch
import torchvision
from torch import nn
from torch.utils.data import DataLoader


class Scene(nn.Module):
    def __init__(self):
        super().__init__()
        base = torchvision.models.resnet50(weights="DEFAULT")
        self.trunk = nn.Sequential(*list(base.children())[:-2])
        self.depth = nn.Conv2d(2048, 1, 1)
        self.sem = nn.Conv2d(2048, 40, 1)

    def forward(self, x):
        f = self.trunk(x)
        return self.depth(f), self.sem(f)


def train(loader: DataLoader, epochs: int) -> None:
    net = Scene().cuda()
    opt = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)
    for ep in range(epochs):
        seen = torch.zeros(())
        for img, depth, sem in loader:
            d, s = net(img.cuda())
            l_depth = (d - depth.cuda()).abs().mean()
            l_sem = nn.functional.cross_entropy(s, sem.cuda())
            opt.zero_grad()
            l_depth.backward(retain_graph=True)
            l_sem.backward(retain_graph=True)
            opt.step()
            seen += l_sem.cpu()
        print(ep, seen.item() / len(loader))


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=30)
    a = ap.parse_args()
    train(DataLoader(torch.load("nyu.pt", map_location="cpu"), 8, shuffle=True), a.epochs)
