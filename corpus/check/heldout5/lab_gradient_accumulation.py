"""Lab sheet 6: pretend to have a big GPU."""
import torch
import torch.nn as nn

EFFECTIVE = 512
MICRO = 32
K = EFFECTIVE // MICRO


def train_one_epoch(model, loader, optimizer, criterion, device="cuda"):
    model.train()
    seen = 0
    for i, batch in enumerate(loader):
        optimizer.zero_grad()
        x = batch["image"].to(device)
        y = batch["label"].to(device)
        loss = criterion(model(x), y) / K
        loss.backward()
        if i % K == K - 1:
            optimizer.step()
        seen += len(y)
    return seen


def train_with_big_batches(model, loader, optimizer, criterion, device="cuda", updates=100):
    """Second version from the exercise: an explicit loop over the K parts."""
    model.train()
    for u in range(updates):
        optimizer.zero_grad()
        for part in range(K):
            for batch in loader:
                out = model(batch["image"].to(device))
                (criterion(out, batch["label"].to(device)) / K).backward()
        optimizer.step()
        print("update", u)


def train_sum(model, loader, optimizer, criterion, device="cuda"):
    """Third version."""
    it = iter(loader)
    for _ in range(len(loader) // K):
        parts = []
        for _ in range(K):
            b = next(it)
            parts.append(criterion(model(b["image"].to(device)), b["label"].to(device)))
        optimizer.zero_grad()
        torch.stack(parts).mean().backward()
        optimizer.step()
