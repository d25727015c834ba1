import torch
from torch import nn


def run_epoch(model, loader, crit, opt=None, device="cuda"):
    training = opt is not None
    model.train(training)
    total = 0.0
    with torch.set_grad_enabled(training):
        for x, y in loader:
            out = model(x.to(device))
            loss = crit(out, y.to(device))
            if training:
                opt.zero_grad()
                loss.backward()
                opt.step()
            total += loss.item() * len(x)
    return total / len(loader.dataset)


def fit(model, train, val, epochs):
    crit = nn.CrossEntropyLoss()
    opt = torch.optim.Adam(model.parameters())
    for e in range(epochs):
        print(e, run_epoch(model, train, crit, opt), run_epoch(model, val, crit))
