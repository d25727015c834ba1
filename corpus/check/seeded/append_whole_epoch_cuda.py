import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


def preload(root, bs=100):
    ds = datasets.ImageFolder(root, transforms.Compose([transforms.Resize((224, 224)), transforms.ToTensor()]))
    dl = DataLoader(ds, batch_size=bs, num_workers=6)
    cached = []
    for imgs, labs in dl:
        cached.append((imgs.cuda(), labs.cuda()))
    return cached


def train(net, root, opt, crit, epochs=90):
    for _ in range(epochs):
        for x, y in preload(root):
            opt.zero_grad()
            crit(net(x), y).backward()
            opt.step()
