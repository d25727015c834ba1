"""python -m rankserve.train impressions.npz : a sweep over widths"""
import sys

import torch
from torch.nn.functional import binary_cross_entropy_with_logits as bce
from torch.utils.data import DataLoader

from . import config
from .features import Impressions
from .model import Ranker


def auc_proxy(z, y):
    """Share of right pairs, cheap version."""
    p = torch.sigmoid(z)
    return ((p > 0.5).float() == y).float().mean()


def fit(width: int, data: Impressions):
    net = Ranker(data.dense.shape[1], width).to(config.DEVICE)
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for ep in range(5):
        calib = 0
        for x, y in DataLoader(data, 8192, shuffle=True):
            z = net(x)
            loss = bce(z, y)
            for p in net.parameters():
                if p.grad is not None:
                    p.grad.zero_()
            loss.backward()
            opt.step()
            calib += (torch.sigmoid(z).mean() - y.mean()).abs()
        print(width, ep, loss.item(), auc_proxy(z, y).item(), float(calib))
    return net


if __name__ == "__main__":
    data = Impressions(sys.argv[1])
    for w in (512, 1024, 2048, 4096):
        net = fit(w, data)
        torch.save(net.state_dict(), f"ranker{w}.pt")
