import torch


def one_step(model, x, y, crit, opt):
    opt.zero_grad()
    out = crit(model(x), y)
    out.backward()
    opt.step()
    return out.item()


def train(model, loader, crit, opt):
    history = {"loss": [], "acc": []}
    total = 0
    for x, y in loader:
        loss = one_step(model, x.cuda(), y.cuda(), crit, opt)
        total += loss
        history["loss"].append(loss)
    return total / len(loader), history
