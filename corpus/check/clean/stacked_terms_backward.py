"""Deep supervision: every head reads the same forward pass, so one backward is right."""
import torch
import torch.nn.functional as F


def train(net, loader, opt, weights):
    for x, y in loader:
        heads = net(x.cuda())
        terms = []
        for w, out in zip(weights, heads):
            terms.append(w * F.cross_entropy(out, y.cuda()))
        loss = torch.stack(terms).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
