"""Trains one backbone after the other on the same split and prints a table."""
import torch
import torch.nn as nn
import torchvision
from torch.utils.data import DataLoader

NAMES = ["resnet101", "densenet201", "swin_b", "convnext_large"]


def train(net, loader, epochs):
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4)
    ce = nn.CrossEntropyLoss()
    net.train()
    for _ in range(epochs):
        for x, y in loader:
            loss = ce(net(x.cuda()), y.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
    return opt


@torch.no_grad()
def score(net, loader):
    net.eval()
    good = n = 0
    for x, y in loader:
        good += (net(x.cuda()).argmax(1).cpu() == y).sum().item()
        n += len(y)
    return good / n


def main(train_set, val_set, classes):
    tl = DataLoader(train_set, 32, shuffle=True, num_workers=4)
    vl = DataLoader(val_set, 64, num_workers=4)
    table = {}
    for name in NAMES:
        net = torchvision.models.get_model(name, num_classes=classes).cuda()
        optimizer = train(net, tl, epochs=5)
        table[name] = score(net, vl)
        torch.cuda.empty_cache()
        del net
        del optimizer
    for name, acc in sorted(table.items(), key=lambda kv: -kv[1]):
        print(f"{name:16s} {acc:.4f}")
    return table
