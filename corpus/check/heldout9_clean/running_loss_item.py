"""Sums numbers, not tensors."""
import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


def train_one(net, dl, opt, lossf):
    net.train()
    total, curve = 0.0, []
    for x, y in dl:
        opt.zero_grad()
        loss = lossf(net(x.cuda()), y.cuda())
        loss.backward()
        opt.step()
        value = loss.item()
        total += value * len(x)
        curve.append(value)
    return total / len(dl.dataset), curve


def main():
    tf = transforms.Compose([transforms.Resize((96, 96)), transforms.ToTensor()])
    dl = DataLoader(datasets.ImageFolder("flowers/train", tf), 64, shuffle=True, num_workers=2)
    net = nn.Sequential(nn.Conv2d(3, 32, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 5)).cuda()
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for ep in range(10):
        print(ep, train_one(net, dl, opt, nn.CrossEntropyLoss())[0])


if __name__ == "__main__":
    main()
