import torch
import torch.nn as nn


class Queue(nn.Module):
    def __init__(self, dim, size=65536):
        super().__init__()
        self.register_buffer("queue", nn.functional.normalize(torch.randn(dim, size), dim=0))
        self.register_buffer("ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def push(self, keys):
        n = keys.size(0)
        p = int(self.ptr)
        self.queue[:, p:p + n] = keys.T
        self.ptr[0] = (p + n) % self.queue.size(1)
