import torch
from torch import nn


def repackage(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage(v) for v in h)


def train(rnn, head, chunks, opt, vocab):
    state = None
    for x, y in chunks:
        if state is not None:
            state = repackage(state)
        out, state = rnn(x.cuda(), state)
        loss = nn.functional.cross_entropy(head(out).view(-1, vocab), y.cuda().view(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
