import argparse

import torch
import torchvision
from torch import nn
from torchvision.transforms import ToTensor

from .engine import Engine
from .hooks import KeepLogits, LossHistory, PeakMemory


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="cifar")
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--runs", type=int, default=5)
    a = ap.parse_args()
    train = torchvision.datasets.CIFAR10(a.data, True, ToTensor(), download=True)
    test = torchvision.datasets.CIFAR10(a.data, False, ToTensor(), download=True)
    tl = torch.utils.data.DataLoader(train, 128, shuffle=True, num_workers=2)
    vl = torch.utils.data.DataLoader(test, 128, num_workers=2)
    for run in range(a.runs):
        hist, keep = LossHistory(), KeepLogits()
        eng = Engine(torchvision.models.resnet50(num_classes=10), nn.CrossEntropyLoss(), 1e-3, accumulate=4,
                     hooks=[hist, PeakMemory()])
        for ep in range(a.epochs):
            eng.train_epoch(tl)
        print(run, eng.evaluate(vl, keep), hist.curve()[-1])


if __name__ == "__main__":
    main()
