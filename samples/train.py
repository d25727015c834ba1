"""A training script with bugs in it, to see what check says."""

import torch
from torch import nn


def evaluate(model, loader, criterion):
    model.eval()
    total = 0
    for inputs, targets in loader:
        total += criterion(model(inputs), targets)
    return total / len(loader)


def train(model, loader, criterion, optimizer):
    history = []
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        history.append(loss)  # oomph: ignore[tensor-stored-in-container-with-graph] a short run
    torch.empty_cache()
    return history


def main(loader):
    model = nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, loader, nn.functional.cross_entropy, optimizer)
    print(evaluate(model, loader, nn.functional.cross_entropy))
