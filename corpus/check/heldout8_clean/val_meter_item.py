import torch


@torch.no_grad()
def validate(net, loader, crit):
    net.eval()
    total = 0.0
    for x, y in loader:
        total += crit(net(x.cuda()), y.cuda()).item()
    return total / len(loader)
