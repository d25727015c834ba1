import itertools

import torch

registry = {}
ids = itertools.count()


def pack(x):
    key = next(ids)
    registry[key] = x
    return key


def unpack(key):
    return registry.pop(key)


def train(model, loader, opt):
    for x, y in loader:
        opt.zero_grad()
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        loss.backward()
        opt.step()
        print(len(registry), loss.item())
