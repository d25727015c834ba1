"""Curvature of the pretraining loss along its gradient, for every saved epoch."""
import argparse
import glob

import torch

from ssl_nets import make_net, view_loader


def vicreg(z1, z2):
    cov = (z1.T @ z1).fill_diagonal_(0).pow(2).sum() / z1.size(1)
    return (z1 - z2).pow(2).mean() + 0.04 * cov


def curvature(net, a, b):
    loss = vicreg(net(a), net(b))
    loss.backward(create_graph=True)
    ps = [p for p in net.parameters() if p.grad is not None]
    sq = sum(p.grad.pow(2).sum() for p in ps)
    hv = torch.autograd.grad(sq, ps, allow_unused=True)
    return sum(h.pow(2).sum() for h in hv if h is not None).sqrt().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("run")
    a = ap.parse_args()
    (v1, v2), _ = next(iter(view_loader(64)))
    for path in sorted(glob.glob(f"{a.run}/epoch_*.pt")):
        net = make_net()
        net.load_state_dict(torch.load(path, map_location="cpu"))
        print(path, curvature(net.cuda(), v1.cuda(), v2.cuda()))


if __name__ == "__main__":
    main()
