import argparse

import torch
from torch.utils.data import DataLoader, random_split
from torchvision import datasets, models, transforms

from fedlab.server import build


def loaders(n_clients, batch):
    ds = datasets.CIFAR10("data", download=True, transform=transforms.ToTensor())
    parts = random_split(ds, [len(ds) // n_clients] * n_clients)
    return [DataLoader(p, batch, shuffle=True) for p in parts]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--clients", type=int, default=10)
    ap.add_argument("--rounds", type=int, default=100)
    ap.add_argument("--warm", default="")
    args = ap.parse_args()
    server = build(lambda: models.resnet18(num_classes=10), loaders(args.clients, 64))
    if args.warm:
        ckpt = torch.load(args.warm, map_location="cuda")
        server.model.load_state_dict(ckpt["model"])
    test = DataLoader(datasets.CIFAR10("data", train=False, transform=transforms.ToTensor()), 256)
    server.fit(args.rounds, test)


if __name__ == "__main__":
    main()
