import torch
from torch.autograd.graph import saved_tensors_hooks


class HostOffload(saved_tensors_hooks):
    def __init__(self):
        super().__init__(self.pack, self.unpack)

    @staticmethod
    def pack(t):
        return t.device, t.to("cpu")

    @staticmethod
    def unpack(packed):
        device, t = packed
        return t.to(device)


def train(model, loader, opt):
    for x, y in loader:
        opt.zero_grad()
        with HostOffload():
            loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        loss.backward()
        opt.step()
