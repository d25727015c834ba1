"""MR super-resolution; PSNR of the training patches is printed per epoch."""
import argparse

import torch
import torch.nn.functional as F

from mrsr.data import patch_loader
from mrsr.net import EDSR


def psnr(pred, ref):
    return -10 * torch.log10(F.mse_loss(pred, ref))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=100)
    ap.add_argument("--batch", type=int, default=16)
    args = ap.parse_args()

    net = EDSR(blocks=32, feats=256).cuda()
    opt = torch.optim.Adam(net.parameters(), 1e-4)
    loader = patch_loader("train", args.batch)
    for epoch in range(args.epochs):
        quality, loss_sum = 0.0, 0.0
        for low, high in loader:
            low, high = low.cuda(), high.cuda()
            sr = net(low)
            loss = F.l1_loss(sr, high)
            opt.zero_grad()
            loss.backward()
            opt.step()
            loss_sum += loss.item()
            quality += psnr(sr, high)
        print(f"{epoch}: l1 {loss_sum / len(loader):.4f} psnr {quality / len(loader):.2f}")
        torch.save(net.state_dict(), "edsr.pt")


if __name__ == "__main__":
    main()
