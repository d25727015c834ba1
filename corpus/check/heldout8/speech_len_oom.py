"""Long utterances sometimes do not fit; try again with the batch cut in two."""
import torch


def forward_backward(model, batch, scale=1.0):
    out = model(batch["text"].cuda(), batch["mel"].cuda())
    (out["loss"] * scale).backward()
    return out["loss"].item()


def halve(batch):
    n = batch["mel"].size(0) // 2
    return [{k: v[:n] for k, v in batch.items()}, {k: v[n:] for k, v in batch.items()}]


def train(model, loader, opt, epochs):
    skipped = 0
    for ep in range(epochs):
        for batch in loader:
            opt.zero_grad()
            try:
                loss = forward_backward(model, batch)
            except torch.cuda.OutOfMemoryError:
                print("OOM at length", batch["mel"].size(1))
                opt.zero_grad()
                loss = sum(forward_backward(model, b, 0.5) for b in halve(batch)) / 2
                skipped += 1
            opt.step()
        print(ep, loss, "cut:", skipped)
