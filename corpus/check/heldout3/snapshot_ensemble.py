"""Averages the softmax of several snapshots over the test set."""
import glob

import torch
from torch.utils.data import DataLoader

from cifar import Cifar100, wide_resnet


class Ensemble:
    def __init__(self, pattern, device="cuda"):
        self.device = device
        self.members = []
        for path in sorted(glob.glob(pattern)):
            net = wide_resnet(28, 10, num_classes=100)
            net.load_state_dict(torch.load(path, map_location="cpu"))
            self.members.append(net.to(device).eval())

    def __call__(self, x):
        probs = 0
        for net in self.members:
            probs = probs + net(x).softmax(dim=1)
        return probs / len(self.members)


def accuracy(ensemble, loader):
    good = count = 0
    for x, y in loader:
        p = ensemble(x.to(ensemble.device))
        good += (p.argmax(1).cpu() == y).sum().item()
        count += y.numel()
    return good / count


if __name__ == "__main__":
    test = DataLoader(Cifar100("~/data", train=False), batch_size=512, num_workers=2)
    ens = Ensemble("snapshots/wrn_*.pt")
    print(f"{len(ens.members)} members, accuracy {accuracy(ens, test):.4f}")
