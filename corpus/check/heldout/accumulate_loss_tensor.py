import torch


def train(model, optimizer, loss_fn, loader, k=8, device="cuda"):
    """Big batch on a small card: step on the mean loss of k batches."""
    model.train()
    batch_loss = 0
    for i, (x, y) in enumerate(loader, 1):
        x, y = x.to(device), y.to(device)
        batch_loss = batch_loss + loss_fn(model(x), y)
        if i % k == 0 or i == len(loader):
            optimizer.zero_grad()
            (batch_loss / k).backward()
            optimizer.step()
            batch_loss = 0
