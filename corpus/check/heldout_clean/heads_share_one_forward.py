import torch
from torch import nn


class MultiHead(nn.Module):
    def __init__(self, body, heads):
        super().__init__()
        self.body = body
        self.heads = nn.ModuleDict(heads)

    def forward(self, x):
        z = self.body(x)
        return {k: h(z) for k, h in self.heads.items()}


def train(model, loader, opt, weights):
    for x, targets in loader:
        out = model(x.cuda())
        parts = []
        for name, w in weights.items():
            parts.append(w * nn.functional.cross_entropy(out[name], targets[name].cuda()))
        loss = torch.stack(parts).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
