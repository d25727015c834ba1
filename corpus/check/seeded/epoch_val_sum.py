"""Train a small CNN on CIFAR-10."""
import argparse

import torch
import torch.nn as nn
import torchvision
import torchvision.transforms as T
from torch.utils.data import DataLoader


class SmallCNN(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(64 * 8 * 8, classes)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))


def train_one_epoch(net, loader, opt, crit, device):
    net.train()
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        opt.zero_grad()
        loss = crit(net(x), y)
        loss.backward()
        opt.step()


def val_one_epoch(net, loader, crit, device):
    running = 0.0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        running += crit(net(x), y)
    return running / len(loader)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=10)
    args = ap.parse_args()
    device = torch.device("cuda")
    tf = T.ToTensor()
    train = DataLoader(torchvision.datasets.CIFAR10(".", train=True, transform=tf), 128, shuffle=True)
    val = DataLoader(torchvision.datasets.CIFAR10(".", train=False, transform=tf), 256)
    net = SmallCNN().to(device)
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    for ep in range(args.epochs):
        train_one_epoch(net, train, opt, crit, device)
        print(ep, val_one_epoch(net, val, crit, device))


if __name__ == "__main__":
    main()
