"""Assignment 3: train a small CNN on CIFAR-10 and report a learning curve."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision import datasets, transforms

dev = "cuda" if torch.cuda.is_available() else "cpu"


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(3, 32, 3, padding=1)
        self.c2 = nn.Conv2d(32, 64, 3, padding=1)
        self.c3 = nn.Conv2d(64, 128, 3, padding=1)
        self.head = nn.Linear(128 * 4 * 4, 10)

    def forward(self, x):
        for conv in (self.c1, self.c2, self.c3):
            x = F.max_pool2d(F.relu(conv(x)), 2)
        return self.head(x.flatten(1))


def get_loaders(bs=128):
    t = transforms.ToTensor()
    tr = datasets.CIFAR10("data", train=True, download=True, transform=t)
    te = datasets.CIFAR10("data", train=False, download=True, transform=t)
    mk = torch.utils.data.DataLoader
    return mk(tr, bs, shuffle=True), mk(te, bs)


def fit(net, train_dl, test_dl, n_epochs=20):
    opt = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)
    curve = {"train": [], "test": []}
    for ep in range(n_epochs):
        net.train()
        for xb, yb in train_dl:
            xb, yb = xb.to(dev), yb.to(dev)
            opt.zero_grad()
            l = F.cross_entropy(net(xb), yb)
            l.backward()
            opt.step()
            curve["train"].append(l)
        net.eval()
        running = 0
        for xb, yb in test_dl:
            xb, yb = xb.to(dev), yb.to(dev)
            running = running + F.cross_entropy(net(xb), yb)
        curve["test"].append(float(running) / len(test_dl))
        print(ep, curve["test"][-1])
    return curve


if __name__ == "__main__":
    a, b = get_loaders()
    fit(SmallCNN().to(dev), a, b)
