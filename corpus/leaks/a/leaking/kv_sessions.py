"""A chat server whose key and value caches are kept for every session that ever was."""

import os

import torch
import torch.nn.functional as F
from torch import nn

steps = int(os.environ.get("STEPS", 30))
heads, dim = 8, 64


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(heads * dim, 3 * heads * dim)
        self.out = nn.Linear(heads * dim, heads * dim)

    def forward(self, x, past):
        q, k, v = (part.unflatten(-1, (heads, dim)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        if past is not None:
            k = torch.cat([past[0], k], 2)  # leak
            v = torch.cat([past[1], v], 2)  # leak
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).flatten(2)), (k, v)


layer = Attention().cuda().half().eval()
sessions = {}


@torch.inference_mode()
def answer(session, prompt_tokens, new_tokens):
    x = torch.randn(4, prompt_tokens, heads * dim, device="cuda", dtype=torch.half)
    past = None
    for _ in range(new_tokens):
        y, past = layer(x, past)  # leak
        sessions[session] = past  # leak
        x = y[:, -1:]
    return x


for step in range(steps):
    answer(f"user-{step}", prompt_tokens=300, new_tokens=4)  # leak
    print("step", step, "sessions", len(sessions))
