import torch
from torch import nn

ACCUMULATION_STEPS = 4


def train_epoch(model, train_loader, optimizer, criterion):
    model.train()
    optimizer.zero_grad()
    for step in range(ACCUMULATION_STEPS):
        for images, labels in train_loader:
            images, labels = images.cuda(), labels.cuda()
            loss = criterion(model(images), labels) / ACCUMULATION_STEPS
            loss.backward()
    optimizer.step()
