import torch
from torch import nn


def train_epoch(model, loader, optimizer, accum=8):
    crit = nn.CrossEntropyLoss()
    optimizer.zero_grad()
    for i, (x, y) in enumerate(loader):
        loss = crit(model(x.cuda()), y.cuda()) / accum
        loss.backward()
        if (i + 1) % accum == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
