import torch
from torch import autocast, no_grad


def train_step(model, batch, opt):
    autocast("cuda", dtype=torch.bfloat16)
    loss = model(**batch).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


def evaluate(model, loader):
    model.eval()
    no_grad()
    total = 0.0
    for batch in loader:
        total += model(**batch).loss.item()
    model.train()
    return total / len(loader)
