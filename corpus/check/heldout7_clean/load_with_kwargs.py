import os

import torch

LOAD = dict(map_location="cpu", weights_only=True)


def read(path):
    return torch.load(path, **LOAD)


def restore(net, opt, path):
    ck = read(path)
    net.load_state_dict(ck["net"])
    opt.load_state_dict(ck["opt"])
    return ck["epoch"] + 1


def average(paths, net):
    """Mean of several checkpoints, all on the CPU."""
    mean = None
    for p in paths:
        sd = torch.load(p, "cpu", weights_only=True)
        if mean is None:
            mean = {k: v.double() for k, v in sd.items()}
        else:
            for k, v in sd.items():
                mean[k] += v
    net.load_state_dict({k: (v / len(paths)).float() for k, v in mean.items()})
    return net.to(os.environ.get("DEVICE", "cuda"))
