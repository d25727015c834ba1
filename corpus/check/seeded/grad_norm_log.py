import torch
from torch.nn.utils import clip_grad_norm_


def train(model, loader, opt, crit):
    norms = []
    for x, y in loader:
        opt.zero_grad()
        crit(model(x.cuda()), y.cuda()).backward()
        norms.append(clip_grad_norm_(model.parameters(), 1.0))
        opt.step()
    return torch.stack(norms).max().item()
