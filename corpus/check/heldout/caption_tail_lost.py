import math

import torch


def train_epoch(model, loader, optimizer, scheduler, accum, device):
    model.train()
    optimizer.zero_grad()
    log = []
    for idx, batch in enumerate(loader):
        pixel = batch["pixel_values"].to(device)
        ids = batch["input_ids"].to(device)
        loss = model(pixel_values=pixel, labels=ids).loss
        (loss / accum).backward()
        log.append(loss.item())
        if (idx + 1) % accum == 0:
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    return math.fsum(log) / len(log)


def fit(model, train_loader, optimizer, scheduler, epochs=5, accum=32, device="cuda"):
    for epoch in range(epochs):
        mean = train_epoch(model, train_loader, optimizer, scheduler, accum, device)
        print(f"{epoch}: {mean:.3f}")
        torch.save(model.state_dict(), f"caption_{epoch}.pt")
