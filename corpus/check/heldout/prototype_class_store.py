import torch
from torch import nn


class Prototypes(nn.Module):
    seen = []

    def __init__(self, backbone, dim, classes):
        super().__init__()
        self.backbone = backbone
        self.table = nn.Parameter(torch.randn(classes, dim))

    def forward(self, x):
        z = nn.functional.normalize(self.backbone(x), dim=-1)
        Prototypes.seen.append(z.detach())
        return z @ nn.functional.normalize(self.table, dim=-1).T


def spread():
    return torch.cat(Prototypes.seen).std(0).mean().item()
