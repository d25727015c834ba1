import torch


def layer_means(model, names, x):
    means, handles = {}, []
    for n, m in model.named_modules():
        if n in names:
            handles.append(m.register_forward_hook(lambda mod, i, o, n=n: means.__setitem__(n, o.detach().mean().item())))
    try:
        with torch.no_grad():
            model(x)
    finally:
        for h in handles:
            h.remove()
    return means
