import torch


def flip(p):
    def hook(module, args, output):
        return torch.where(torch.rand_like(output) < p, -output, output)

    return hook


def campaign(model, loader, rates):
    results = {}
    for rate in rates:
        for layer in model.modules():
            if isinstance(layer, torch.nn.Conv2d):
                layer.register_forward_hook(flip(rate))
        hit = n = 0
        with torch.no_grad():
            for x, y in loader:
                hit += (model(x.cuda()).argmax(1).cpu() == y).sum().item()
                n += len(y)
        results[rate] = hit / n
    return results
