import torch


def fit_epoch(model, loader, opt, crit, k, device="cuda"):
    model.train()
    opt.zero_grad()
    since = 0
    for x, y in loader:
        loss = crit(model(x.to(device)), y.to(device))
        (loss / k).backward()
        since += 1
        if since == k:
            opt.step()
            opt.zero_grad()
            since = 0
    if since:
        opt.step()
        opt.zero_grad()
