import torch
from torch.autograd.graph import saved_tensors_hooks


class Holder:
    def __init__(self, tensor):
        self.tensor = tensor


def profile_activations(model, loader):
    live = []

    def pack(t):
        h = Holder(t)
        return h

    def unpack(h):
        return h.tensor

    for x, y in loader:
        with saved_tensors_hooks(pack, unpack):
            out = model(x.cuda())
        out.sum().backward()
    return live
