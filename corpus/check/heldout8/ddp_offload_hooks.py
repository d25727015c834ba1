import torch
from torch.autograd.graph import saved_tensors_hooks


class Kept:
    def __init__(self, t):
        self.t = t


def pack(t):
    return Kept(t)


def unpack(k):
    return k.t


def train_step(net, x, y, opt, loss_fn):
    with saved_tensors_hooks(pack, unpack):
        loss = loss_fn(net(x), y)
    loss.backward()
    opt.step()
    opt.zero_grad()
    return loss.item()
