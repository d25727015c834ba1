import torch

CACHE = {}


@torch.no_grad()
def features(model, key, x):
    if key not in CACHE:
        CACHE[key] = model(x.cuda())  # bad
    return CACHE[key]
