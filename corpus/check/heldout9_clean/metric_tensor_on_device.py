"""A sum kept on the GPU without a sync per step: detached, one scalar."""
import torch
import torchvision
from torch import nn
from torch.utils.data import DataLoader
from torchvision.transforms import ToTensor


class Mean:
    def __init__(self, device):
        self.total = torch.zeros((), device=device)
        self.n = 0

    def add(self, value, n):
        self.total += value.detach() * n
        self.n += n

    def value(self):
        return (self.total / self.n).item()


def main():
    dl = DataLoader(torchvision.datasets.CIFAR10("c", True, ToTensor(), download=True), 128, shuffle=True)
    net = torchvision.models.resnet18(num_classes=10).cuda()
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for ep in range(10):
        mean = Mean("cuda")
        for x, y in dl:
            loss = nn.functional.cross_entropy(net(x.cuda()), y.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
            mean.add(loss, len(x))
        print(ep, mean.value())


if __name__ == "__main__":
    main()
