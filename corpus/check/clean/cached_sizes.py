from functools import lru_cache

import torch
import torch.nn as nn


@lru_cache(maxsize=None)
def out_size(n, kernel, stride):
    return (n - kernel) // stride + 1


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("mask", torch.ones(n, n, dtype=torch.bool).tril(), persistent=False)
        self.fc = nn.Linear(out_size(n, 3, 2), 8)

    def forward(self, x):
        return self.fc(x)
