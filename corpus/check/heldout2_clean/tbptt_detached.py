import torch
import torch.nn.functional as F


def repackage(state):
    if isinstance(state, torch.Tensor):
        return state.detach()
    return tuple(repackage(s) for s in state)


def train(model, loader, opt, state):
    model.train()
    for ids, nxt in loader:
        state = repackage(state)
        opt.zero_grad()
        logits, state = model(ids.cuda(), state)
        loss = F.cross_entropy(logits.flatten(0, 1), nxt.cuda().flatten())
        loss.backward()
        opt.step()
