"""Several heads over one trunk: the list of losses belongs to one forward pass."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiTask(nn.Module):
    def __init__(self, trunk, dims, width=512):
        super().__init__()
        self.trunk = trunk
        self.heads = nn.ModuleList(nn.Linear(width, d) for d in dims)

    def forward(self, x):
        h = self.trunk(x)
        return [head(h) for head in self.heads]


def train(model, loader, opt, weights):
    for x, targets in loader:
        opt.zero_grad()
        terms = []
        for out, y in zip(model(x.cuda()), targets):
            terms.append(F.cross_entropy(out, y.cuda()))
        loss = (torch.stack(terms) * weights).sum()
        loss.backward()
        opt.step()
        print([round(t.item(), 3) for t in terms])
