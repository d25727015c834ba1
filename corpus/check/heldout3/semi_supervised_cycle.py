"""FixMatch: one labelled and one unlabelled batch a step."""
import argparse
from itertools import cycle

import torch
import torch.nn.functional as F

from ssl_data import labelled_loader, unlabelled_loader
from wrn import WideResNet


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=2**18)
    p.add_argument("--mu", type=int, default=7)
    p.add_argument("--tau", type=float, default=0.95)
    a = p.parse_args()
    net = WideResNet(28, 2, 10).cuda()
    opt = torch.optim.SGD(net.parameters(), 0.03, momentum=0.9, nesterov=True)
    pairs = zip(cycle(labelled_loader(64)), cycle(unlabelled_loader(64 * a.mu)))
    net.train()
    for step, ((x, y), (weak, strong)) in enumerate(pairs):
        if step == a.steps:
            break
        x, y, weak, strong = x.cuda(), y.cuda(), weak.cuda(), strong.cuda()
        with torch.no_grad():
            prob, pseudo = net(weak).softmax(1).max(1)
            keep = (prob >= a.tau).float()
        sup = F.cross_entropy(net(x), y)
        unsup = (F.cross_entropy(net(strong), pseudo, reduction="none") * keep).mean()
        loss = sup + unsup
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 500 == 0:
            print(step, sup.item(), unsup.item(), keep.mean().item())
    torch.save(net.state_dict(), "fixmatch.pt")


if __name__ == "__main__":
    main()
