"""Audio tagging, mixed precision. Steps every args.k batches."""
import argparse

import torch
from torch.cuda.amp import GradScaler, autocast

from audioset import loaders
from panns import Cnn14


def build_step(net, opt, criterion, k):
    scaler = GradScaler()
    count = 0

    def step(wave, target):
        nonlocal count
        with autocast():
            loss = criterion(net(wave), target) / k
        scaler.scale(loss).backward()
        count += 1
        if count % k == 0:
            scaler.step(opt)
            scaler.update()
        opt.zero_grad(set_to_none=True)
        return loss.item() * k

    return step


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("-k", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=10)
    args = ap.parse_args()
    net = Cnn14(classes_num=527).cuda()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    step = build_step(net, opt, torch.nn.BCEWithLogitsLoss(), args.k)
    train, _ = loaders(batch_size=32)
    for epoch in range(args.epochs):
        for n, (wave, target) in enumerate(train):
            value = step(wave.cuda(), target.float().cuda())
            if n % 100 == 0:
                print(epoch, n, value)


if __name__ == "__main__":
    main()
