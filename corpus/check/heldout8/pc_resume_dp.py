import os
import sys

import torch
import torch.nn as nn

from models.ptv import PointTransformerSeg
from data import s3dis_loader


def build(gpus, resume=None):
    net = PointTransformerSeg(in_dim=6, n_class=13)
    if len(gpus) > 1:
        net = nn.DataParallel(net, device_ids=gpus)
    net = net.cuda()
    start = 0
    opt = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9, weight_decay=1e-4)
    if resume and os.path.isfile(resume):
        print("=> resuming from", resume)
        state = torch.load(resume)
        net.load_state_dict(state["state_dict"])
        opt.load_state_dict(state["optimizer"])
        start = state["epoch"] + 1
    return net, opt, start


def fit(net, opt, start, epochs, criterion):
    for ep in range(start, epochs):
        for i, (coord, feat, target) in enumerate(s3dis_loader("train")):
            out = net(coord.cuda(), feat.cuda())
            loss = criterion(out, target.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
            if i % 20 == 0:
                print(ep, i, loss.item())
                torch.cuda.empty_cache()
        torch.save({"epoch": ep, "state_dict": net.state_dict(), "optimizer": opt.state_dict()}, "last.pth")


if __name__ == "__main__":
    ids = list(range(torch.cuda.device_count()))
    n, o, s = build(ids, sys.argv[1] if len(sys.argv) > 1 else None)
    fit(n, o, s, 100, nn.CrossEntropyLoss(ignore_index=255).cuda())
