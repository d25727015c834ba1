import torch


def train(model, loader, opt, crit, device="cuda"):
    acc = 0.0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        logits = model(x)
        probs = logits.softmax(dim=-1)
        acc += (probs.max(-1).values > 0.5).float().mean().item()
        loss = crit(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return acc / len(loader)
