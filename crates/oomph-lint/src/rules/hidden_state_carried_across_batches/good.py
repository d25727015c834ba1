import torch


def train(model, loader, optimizer, criterion):
    state = None
    for x, y in loader:
        out, state = model(x, None if state is None else state.detach())
        loss = criterion(out, y)
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        loss.backward()
