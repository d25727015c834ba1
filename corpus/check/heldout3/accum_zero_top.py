"""Fine-tunes a 3D segmentation net with a virtual batch of 16 volumes."""
import argparse

import torch
from monai.losses import DiceCELoss
from monai.networks.nets import SwinUNETR

from volumes import make_loader


def train_epoch(net, loader, loss_fn, opt, accumulate, device):
    net.train()
    total = 0.0
    for i, batch in enumerate(loader):
        opt.zero_grad()
        vol = batch["image"].to(device)
        seg = batch["label"].to(device)
        loss = loss_fn(net(vol), seg) / accumulate
        loss.backward()
        total += loss.item() * accumulate
        if (i + 1) % accumulate == 0 or i + 1 == len(loader):
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
    return total / len(loader)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--accumulate", type=int, default=16)
    p.add_argument("--epochs", type=int, default=200)
    args = p.parse_args()
    net = SwinUNETR(in_channels=4, out_channels=3, feature_size=48).cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4)
    loader = make_loader(args.data, batch_size=1)
    loss_fn = DiceCELoss(sigmoid=True)
    for epoch in range(args.epochs):
        print(epoch, train_epoch(net, loader, loss_fn, opt, args.accumulate, "cuda"))
        torch.save(net.state_dict(), "swin.pt")


if __name__ == "__main__":
    main()
