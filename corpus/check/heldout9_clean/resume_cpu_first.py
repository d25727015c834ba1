import argparse

import torch
import torchvision
from torch.utils.data import DataLoader
from torchvision.transforms import Compose, RandomResizedCrop, ToTensor


def resume(path, net, opt):
    snap = torch.load(path, map_location="cpu")
    net.load_state_dict(snap["net"])
    opt.load_state_dict(snap["opt"])
    return snap["epoch"]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--resume")
    a = ap.parse_args()
    net = torchvision.models.resnet50(num_classes=100).cuda()
    opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    first = resume(a.resume, net, opt) if a.resume else 0
    ds = torchvision.datasets.ImageFolder("train", Compose([RandomResizedCrop(224), ToTensor()]))
    for ep in range(first, 90):
        net.train()
        for x, y in DataLoader(ds, 128, shuffle=True, num_workers=8):
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
            opt.step()
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "epoch": ep + 1}, "last.pt")


if __name__ == "__main__":
    main()
