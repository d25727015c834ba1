import argparse

import torch
import torch.nn as nn
import torchvision
from torchvision import transforms as T


def build(n_out):
    net = torchvision.models.resnet50(weights="IMAGENET1K_V2")
    for w in net.parameters():
        w.require_grad = False
    net.fc = nn.Linear(net.fc.in_features, n_out)
    return net


def fit(net, loader, epochs, lr):
    opt = torch.optim.Adam(net.parameters(), lr=lr)
    ce = nn.CrossEntropyLoss()
    net.cuda().train()
    for ep in range(epochs):
        for k, (x, y) in enumerate(loader):
            x, y = x.cuda(), y.cuda()
            opt.zero_grad
            loss = ce(net(x), y)
            loss.backward()
            opt.step()
            if k % 20 == 0:
                print(ep, k, loss.item())


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="pets")
    ap.add_argument("--epochs", type=int, default=3)
    args = ap.parse_args()
    tf = T.Compose([T.Resize(256), T.CenterCrop(224), T.ToTensor()])
    ds = torchvision.datasets.OxfordIIITPet(args.data, transform=tf, download=True)
    dl = torch.utils.data.DataLoader(ds, batch_size=64, shuffle=True, num_workers=2)
    fit(build(37), dl, args.epochs, 1e-4)
