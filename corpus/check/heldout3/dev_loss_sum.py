import torch
from torch import nn


def run_epoch(model, loader, loss_fn, optimizer, device):
    model.train()
    seen, total = 0, 0.0
    for src, tgt in loader:
        src, tgt = src.to(device), tgt.to(device)
        optimizer.zero_grad()
        logits = model(src, tgt[:, :-1])
        loss = loss_fn(logits.reshape(-1, logits.size(-1)), tgt[:, 1:].reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item() * src.size(0)
        seen += src.size(0)
    return total / seen


def dev_loss(model, loader, loss_fn, device):
    model.eval()
    running = 0
    n = 0
    for src, tgt in loader:
        src, tgt = src.to(device), tgt.to(device)
        logits = model(src, tgt[:, :-1])
        loss = loss_fn(logits.reshape(-1, logits.size(-1)), tgt[:, 1:].reshape(-1))
        running = running + loss * src.size(0)
        n += src.size(0)
    return running / n


def fit(model, loaders, epochs, device, pad_id):
    loss_fn = nn.CrossEntropyLoss(ignore_index=pad_id)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4, betas=(0.9, 0.98))
    best = None
    for epoch in range(epochs):
        train = run_epoch(model, loaders["train"], loss_fn, optimizer, device)
        dev = dev_loss(model, loaders["dev"], loss_fn, device)
        if best is None or dev < best:
            best = dev
            torch.save(model.state_dict(), "best.pt")
        print(f"epoch {epoch}: train {train:.3f} dev {dev:.3f}")
