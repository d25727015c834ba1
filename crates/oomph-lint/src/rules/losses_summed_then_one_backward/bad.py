import torch


def step(model, loader, optimizer, criterion):
    total = 0
    for x, y in loader:
        total = total + criterion(model(x), y)  # bad
    total.backward()
    optimizer.step()
