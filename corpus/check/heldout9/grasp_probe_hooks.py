"""Collects features of every conv for the grasp success probe."""
import argparse

import torch
import torchvision
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import Compose, Resize, ToTensor

stash = {}


def watch(name):
    def inner(module, args, result):
        stash.setdefault(name, []).append(result)
    return inner


def features_of(net, images):
    for name, mod in net.named_modules():
        if isinstance(mod, torch.nn.Conv2d):
            mod.register_forward_hook(watch(name))
    net(images)
    return {k: v[-1].mean((2, 3)) for k, v in stash.items()}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("folder")
    args = ap.parse_args()
    net = torchvision.models.resnet18(weights="DEFAULT").cuda().eval()
    dl = DataLoader(ImageFolder(args.folder, Compose([Resize((224, 224)), ToTensor()])), batch_size=16)
    with torch.no_grad():
        for k, (x, y) in enumerate(dl):
            f = features_of(net, x.cuda())
            torch.save({"f": {n: t.cpu() for n, t in f.items()}, "y": y}, f"probe_{k:05d}.pt")


if __name__ == "__main__":
    main()
