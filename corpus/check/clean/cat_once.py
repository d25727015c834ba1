import torch


@torch.no_grad()
def features(net, loader):
    parts, labels = [], []
    for x, y in loader:
        parts.append(net(x.cuda()).cpu())
        labels.append(y)
    return torch.cat(parts), torch.cat(labels)


def concat_skip(x, skips):
    x = torch.cat([x, skips[-1]], dim=1)
    return x
