"""On running out of memory the batch is halved, after the handler has been left."""
import torch
import torch.nn.functional as F


def forward_backward(model, x, y, weight):
    loss = F.cross_entropy(model(x), y) * weight
    loss.backward()
    return loss.item()


def robust_step(model, opt, x, y, parts=1, most=16):
    while True:
        opt.zero_grad()
        failed = False
        total = 0.0
        try:
            for xs, ys in zip(x.chunk(parts), y.chunk(parts)):
                total += forward_backward(model, xs.cuda(), ys.cuda(), len(xs) / len(x))
        except torch.OutOfMemoryError:
            failed = True
        if not failed:
            opt.step()
            return total, parts
        parts *= 2
        if parts > most:
            raise RuntimeError(f"a batch of {len(x)} does not fit in {most} parts")
        opt.zero_grad()
        torch.cuda.empty_cache()


def train(model, loader, epochs):
    model.cuda().train()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for epoch in range(epochs):
        parts = 1
        for x, y in loader:
            value, parts = robust_step(model, opt, x, y, parts)
        print(epoch, value, parts)
