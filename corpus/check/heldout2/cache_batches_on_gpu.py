import torch
from torch.utils.data import DataLoader


def cached(dataset, batch_size):
    loader = DataLoader(dataset, batch_size=batch_size, shuffle=True, num_workers=8)
    return [(x.cuda(), y.cuda()) for x, y in loader]


def split(dataset, batch_size):
    loader = DataLoader(dataset, batch_size=batch_size)
    batches = sorted(loader, key=lambda b: b[0].shape[-1])
    cut = int(0.9 * len(batches))
    return batches[:cut], batches[cut:]


def train(model, dataset, opt, loss_fn, epochs):
    data = cached(dataset, 256)
    for _ in range(epochs):
        for x, y in data:
            opt.zero_grad()
            loss_fn(model(x), y).backward()
            opt.step()
