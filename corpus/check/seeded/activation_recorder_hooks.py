import torch


class ActivationRecorder:
    def __init__(self, limit_mb=64):
        self.limit = limit_mb * 2 ** 20
        self.table = {}

    def pack(self, tensor):
        key = len(self.table)
        self.table[key] = tensor
        return key

    def unpack(self, key):
        return self.table[key]

    def __call__(self):
        return torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)


def train_step(net, x, y, crit, opt, rec):
    with rec():
        loss = crit(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
