import torch
from torch.autograd.graph import saved_tensors_hooks


class Kept:
    def __init__(self, t):
        self.t = t


live = 0


def pack(t):
    global live
    live += t.numel()
    return Kept(t)


def unpack(box):
    return box.t


def count(net, x):
    with saved_tensors_hooks(pack, unpack):
        loss = net(x).square().mean()
    loss.backward()
    return live


def sweep(net, sizes):
    for n in sizes:
        print(n, count(net, torch.randn(n, 3, 224, 224, device="cuda")))
