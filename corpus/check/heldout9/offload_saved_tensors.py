import torch
import torchvision
from torch import nn


class Slot:
    __slots__ = ("tensor", "note")

    def __init__(self, tensor, note):
        self.tensor = tensor
        self.note = note


def pack(t):
    return Slot(t, f"{tuple(t.shape)}")


def unpack(slot):
    return slot.tensor


def main():
    net = torchvision.models.resnet101().cuda()
    opt = torch.optim.SGD(net.parameters(), 0.1)
    lossf = nn.CrossEntropyLoss()
    for step in range(100):
        x = torch.randn(32, 3, 224, 224, device="cuda")
        y = torch.randint(0, 1000, (32,), device="cuda")
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            loss = lossf(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(step, loss.item(), torch.cuda.memory_allocated() >> 20)


if __name__ == "__main__":
    main()
