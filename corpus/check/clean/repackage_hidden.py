import torch
import torch.nn as nn


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def train(model, batches, opt, bsz):
    hidden = model.init_hidden(bsz)
    for data, targets in batches:
        opt.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data.cuda(), hidden)
        loss = nn.functional.cross_entropy(output.flatten(0, 1), targets.cuda().flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        opt.step()
