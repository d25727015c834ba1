import torch


def validate(model, loader, crit):
    model.eval
    losses = []
    with torch.no_grad():
        for x, y in loader:
            losses.append(crit(model(x.cuda()), y.cuda()).item())
    model.train()
    return sum(losses) / len(losses)
