"""Lecture 10: count what autograd keeps, with saved_tensors_hooks."""
import torch
from torch.autograd.graph import saved_tensors_hooks
from torchvision.models import resnet50


class Counter:
    def __init__(self):
        self.n = self.bytes = 0

    def pack(self, t):
        self.n += 1
        self.bytes += t.numel() * t.element_size()
        return {"tensor": t, "order": self.n}

    def unpack(self, box):
        return box["tensor"]


def measure(bs):
    net = resnet50().cuda()
    c = Counter()
    with saved_tensors_hooks(c.pack, c.unpack):
        loss = net(torch.randn(bs, 3, 224, 224, device="cuda")).sum()
    assert loss.requires_grad
    return c.n, c.bytes / 2**20


if __name__ == "__main__":
    print("batch  tensors  MiB")
    for bs in (1, 2, 4, 8, 16, 32, 64):
        n, mib = measure(bs)
        print(f"{bs:5d}  {n:7d}  {mib:8.1f}")
