import torch
from torch.autograd.graph import saved_tensors_hooks


def to_cpu(t):
    return t.device, t.to("cpu")


def back(packed):
    device, t = packed
    return t.to(device)


class Detached:
    def __init__(self, t):
        self.t = t.detach()


def forward(net, x, offload):
    hooks = saved_tensors_hooks(to_cpu, back) if offload else saved_tensors_hooks(Detached, lambda d: d.t)
    with hooks:
        return net(x)
