"""Folding-style point cloud auto-encoder on ShapeNet chunks."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader

from shapes import ShapeNetPoints


class FoldNet(nn.Module):
    def __init__(self, code=512, grid=45):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv1d(3, 64, 1), nn.ReLU(), nn.Conv1d(64, 256, 1), nn.ReLU(), nn.Conv1d(256, code, 1))
        self.dec = nn.Sequential(nn.Linear(code, 1024), nn.ReLU(), nn.Linear(1024, grid * grid * 3))
        self.grid = grid

    def forward(self, pts):
        z = self.enc(pts.transpose(1, 2)).max(dim=2).values
        return self.dec(z).view(-1, self.grid * self.grid, 3)


def chamfer(a, b):
    diff = a[:, :, None, :] - b[:, None, :, :]
    d = (diff ** 2).sum(-1)
    return d.min(2).values.mean() + d.min(1).values.mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--points", type=int, default=2048)
    ap.add_argument("--bs", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=100)
    args = ap.parse_args()

    net = FoldNet().cuda()
    opt = torch.optim.Adam(net.parameters(), lr=1e-4)
    loader = DataLoader(ShapeNetPoints("train", args.points), args.bs, shuffle=True, num_workers=4)
    curve = {"cd": [], "epoch": []}
    for ep in range(args.epochs):
        for pts in loader:
            pts = pts.cuda()
            opt.zero_grad()
            cd = chamfer(net(pts), pts)
            cd.backward()
            opt.step()
            curve["cd"].append(cd)
        curve["epoch"].append(ep)
        print(ep, float(curve["cd"][-1]))


if __name__ == "__main__":
    main()
