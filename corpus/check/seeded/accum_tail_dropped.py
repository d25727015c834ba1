import torch
from torch import nn


def train_epoch(model, loader, optimizer, accumulation_steps=16):
    crit = nn.CrossEntropyLoss()
    model.train()
    optimizer.zero_grad()
    for i, (x, y) in enumerate(loader):
        loss = crit(model(x.cuda()), y.cuda()) / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
