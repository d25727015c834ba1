"""Train a U-Net on tiles with an effective batch of 64."""
import argparse

import torch
from torch import nn, optim

from tiles import make_loader, UNet


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--micro", type=int, default=8)
    p.add_argument("--effective", type=int, default=64)
    return p.parse_args()


def main():
    args = parse()
    every = args.effective // args.micro
    device = torch.device("cuda")
    net = UNet(3, 19).to(device)
    adam = optim.Adam(net.parameters(), 3e-4)
    ce = nn.CrossEntropyLoss(ignore_index=255)
    for epoch in range(40):
        for n, (tile, mask) in enumerate(make_loader(args.micro), start=1):
            tile, mask = tile.to(device), mask.to(device)
            adam.zero_grad()
            ce(net(tile), mask).div(every).backward()
            if n % every:
                continue
            adam.step()
    torch.save(net.state_dict(), "unet.pt")


if __name__ == "__main__":
    main()
