"""Monocular depth training, one GPU. Prints running means of the three loss terms."""
import argparse
from collections import defaultdict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

from depthlib import KittiDepth, ResUNet


class Averager:
    """Keeps every value it was given, so that the median can be printed too."""

    def __init__(self):
        self.values = defaultdict(list)

    def put(self, key, value):
        self.values[key].append(value)

    def mean(self, key):
        vals = self.values[key]
        return float(sum(vals)) / max(len(vals), 1)


def gradient_term(pred, depth):
    dx = (pred[..., 1:] - pred[..., :-1]) - (depth[..., 1:] - depth[..., :-1])
    dy = (pred[..., 1:, :] - pred[..., :-1, :]) - (depth[..., 1:, :] - depth[..., :-1, :])
    return dx.abs().mean() + dy.abs().mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", required=True)
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--lr", type=float, default=1e-4)
    args = ap.parse_args()

    net = ResUNet(out_channels=1).cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=args.lr)
    loader = DataLoader(KittiDepth(args.root), batch_size=8, shuffle=True, num_workers=4, pin_memory=True)
    avg = Averager()

    for epoch in range(args.epochs):
        for image, depth in loader:
            image, depth = image.cuda(non_blocking=True), depth.cuda(non_blocking=True)
            pred = net(image)
            l1 = F.l1_loss(pred, depth)
            grad = gradient_term(pred, depth)
            loss = l1 + 0.5 * grad
            opt.zero_grad()
            loss.backward()
            opt.step()
            avg.put("l1", l1)
            avg.put("grad", grad)
            avg.put("total", loss)
        print(epoch, avg.mean("l1"), avg.mean("grad"), avg.mean("total"))


if __name__ == "__main__":
    main()
