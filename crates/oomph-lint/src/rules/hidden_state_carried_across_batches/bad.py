import torch


def train(model, loader, optimizer, criterion):
    state = None
    for x, y in loader:
        out, state = model(x, state)  # bad
        loss = criterion(out, y)
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        loss.backward()
