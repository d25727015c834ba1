import torch
from torch import nn


def cut(state):
    if isinstance(state, torch.Tensor):
        return state.detach()
    return tuple(cut(s) for s in state)


def train(lm, loader, opt, clip=0.25):
    state = None
    for x, y in loader:
        if state is not None:
            state = cut(state)
        logits, state = lm(x.cuda(), state)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.cuda().flatten())
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(lm.parameters(), clip)
        opt.step()
