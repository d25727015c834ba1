"""CheXpert baseline from the group's old server (4 cards)."""
import argparse
import logging

import torch
import torch.nn as nn
from torchvision.models import densenet121

from chexpert import loaders


def build(n_out):
    net = densenet121(weights="IMAGENET1K_V1")
    net.classifier = nn.Linear(net.classifier.in_features, n_out)
    return nn.DataParallel(net.cuda(), device_ids=list(range(torch.cuda.device_count())))


def train(args):
    train_dl, val_dl = loaders(args.root, args.batch)
    net = build(14)
    opt = torch.optim.Adam(net.parameters(), args.lr)
    crit = nn.BCEWithLogitsLoss()
    micro = 0
    for epoch in range(args.epochs):
        net.train()
        for x, y in train_dl:
            loss = crit(net(x.cuda()), y.cuda())
            net.zero_grad()
            (loss / args.accumulate).backward()
            micro += 1
            if micro == args.accumulate:
                opt.step()
                micro = 0
        net.eval()
        with torch.no_grad():
            val = sum(crit(net(x.cuda()), y.cuda()).item() for x, y in val_dl) / len(val_dl)
        logging.info("epoch %d val %.4f", epoch, val)
        torch.save(net.module.state_dict(), "chexpert.pt")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", default="/data/chexpert")
    ap.add_argument("--batch", type=int, default=48)
    ap.add_argument("--accumulate", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--lr", type=float, default=1e-4)
    train(ap.parse_args())
