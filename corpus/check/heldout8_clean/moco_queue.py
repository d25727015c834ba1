import torch
from torch import nn


class Queue(nn.Module):
    def __init__(self, dim=128, k=65536):
        super().__init__()
        self.k, self.ptr = k, 0
        self.register_buffer("bank", torch.randn(dim, k))

    @torch.no_grad()
    def push(self, keys):
        n = len(keys)
        self.bank[:, self.ptr:self.ptr + n] = keys.t()
        self.ptr = (self.ptr + n) % self.k
