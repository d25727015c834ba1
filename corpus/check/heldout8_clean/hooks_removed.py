import torch


@torch.no_grad()
def features(net, layer, loader):
    kept = []
    handle = layer.register_forward_hook(lambda m, i, o: kept.append(o.mean((2, 3)).cpu()))
    try:
        for x, _ in loader:
            net(x.cuda())
    finally:
        handle.remove()
    return torch.cat(kept)
