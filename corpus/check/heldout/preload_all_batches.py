import torch
from torch.utils.data import DataLoader


def prepare(dataset, bs, device):
    loader = DataLoader(dataset, batch_size=bs, shuffle=True, num_workers=8)
    return [(x.to(device), y.to(device)) for x, y in loader]


def fit(model, dataset, opt, crit, epochs=20, device="cuda"):
    batches = prepare(dataset, 128, device)
    for _ in range(epochs):
        for x, y in batches:
            opt.zero_grad()
            crit(model(x), y).backward()
            opt.step()
