import argparse
import itertools

import torch
import torch.nn.functional as F

from recs.data import make_loaders
from recs.models import build


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=200_000)
    ap.add_argument("--accum", type=int, default=8)
    ap.add_argument("--lr", type=float, default=1e-3)
    return ap.parse_args()


def main():
    args = parse()
    lab, unlab = make_loaders()
    net = build().cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=args.lr)
    infinite = itertools.cycle(unlab)
    step = 0
    while step < args.steps:
        for x, y in lab:
            u = next(infinite).cuda()
            with torch.no_grad():
                soft = net(u).softmax(-1)
            keep = soft.max(-1).values > 0.95
            loss = F.cross_entropy(net(x.cuda()), y.cuda())
            if keep.any():
                loss = loss + F.cross_entropy(net(u[keep]), soft[keep].argmax(-1))
            (loss / args.accum).backward()
            step += 1
            if step % args.accum == 0:
                opt.step()
                opt.zero_grad()
            if step >= args.steps:
                break
        print(step, loss.item())
