"""class: request_too_large
cap_mib: 1024
"""
import torch
import torch.nn as nn
import torch.nn.functional as F



class Attention(nn.Module):
    def __init__(self, dim=256):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-1, -2)  # guilty
        return scores.softmax(-1) @ v


attn = Attention().cuda()
for length in (512, 1024, 40000):
    out = attn(torch.randn(1, length, 256, device="cuda"))
