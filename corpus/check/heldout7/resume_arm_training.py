import argparse
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision.models import resnet50

from armdata import GraspSet


def build(n_out):
    net = resnet50(weights="IMAGENET1K_V2")
    net.fc = nn.Linear(net.fc.in_features, n_out)
    return net


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--resume", default="")
    ap.add_argument("--batch", type=int, default=256)
    a = ap.parse_args()

    net = build(6)
    start = 0
    if torch.cuda.device_count() > 1:
        print("using", torch.cuda.device_count(), "gpus")
        net = torch.nn.DataParallel(net)
    net = net.cuda()
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

    if a.resume and os.path.isfile(a.resume):
        state = torch.load(a.resume)
        net.load_state_dict(state["net"])
        opt.load_state_dict(state["opt"])
        start = state["epoch"] + 1
        del state

    crit = nn.SmoothL1Loss()
    loader = DataLoader(GraspSet("train"), a.batch, shuffle=True, num_workers=8, pin_memory=True)
    for ep in range(start, 90):
        running = 0.0
        for img, grasp in loader:
            opt.zero_grad()
            loss = crit(net(img.cuda(non_blocking=True)), grasp.cuda(non_blocking=True))
            loss.backward()
            opt.step()
            running += loss.item()
        print(ep, running / len(loader))
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "epoch": ep}, "last.pt")


if __name__ == "__main__":
    main()
