import torch


def step(model, x, optimizer):
    loss = model(x).sum()
    loss.backward(retain_graph=True)  # bad
    optimizer.step()
