import torch


def penultimate(model, x):
    store = {}

    def grab(mod, args, out):
        store["h"] = out.detach()

    model.avgpool.register_forward_hook(grab)
    with torch.no_grad():
        model(x)
    return store["h"].flatten(1)


def knn_features(model, loader):
    return torch.cat([penultimate(model, x.cuda()).cpu() for x, _ in loader])
