import torch


def chamfer(a, b):
    d = torch.cdist(a, b)
    return d.min(2).values.mean() + d.min(1).values.mean()
