import torch


def step(model, x, optimizer):
    loss = model(x).sum()
    loss.backward()
    optimizer.step()
