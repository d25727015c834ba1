import torch
from torch import nn


def train(net, head, batches, opt):
    state = None
    for x, y in batches:
        if state is not None:
            state = tuple(s.detach() for s in state)
        out, state = net(x.cuda(), state)
        loss = nn.functional.cross_entropy(head(out).flatten(0, 1), y.cuda().flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
