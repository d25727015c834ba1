"""class: growth
cap_mib: 1100
"""
import torch
import torch.nn as nn
import torch.nn.functional as F



class Cache:
    def __init__(self, layers):
        self.keys = [torch.empty(16, 0, 512, device="cuda") for _ in range(layers)]

    def update(self, layer, k):
        self.keys[layer] = torch.cat([self.keys[layer], k], dim=1)  # guilty
        return self.keys[layer]


@torch.no_grad()
def generate(tokens):
    proj = nn.Linear(512, 512).cuda()
    cache = Cache(4)
    x = torch.randn(16, 8, 512, device="cuda")
    for t in range(tokens):
        for layer in range(4):
            k = cache.update(layer, proj(x))
            x = torch.relu(x + k[:, -8:])


generate(100000)
