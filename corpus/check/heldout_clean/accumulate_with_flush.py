import torch


def train_epoch(model, loader, optimizer, criterion, accum=8, device="cuda"):
    model.train()
    optimizer.zero_grad()
    last = len(loader)
    total = 0.0
    for i, (x, y) in enumerate(loader, start=1):
        loss = criterion(model(x.to(device)), y.to(device))
        (loss / accum).backward()
        total += loss.item()
        if i % accum == 0 or i == last:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    return total / last
