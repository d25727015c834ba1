import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, dim, vocab=50_257):
        super().__init__()
        self.proj = nn.Linear(dim, vocab)
        self.vocab = vocab

    def loss(self, h, ids):
        logp = self.proj(h).log_softmax(-1)
        target = F.one_hot(ids, self.vocab).float()
        return -(target * logp).sum(-1).mean()


class Decoder(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mask = torch.tril(torch.ones(t, t, device=x.device))
        w = q @ k.transpose(-2, -1) * q.size(-1) ** -0.5
        w = F.softmax(w.masked_fill(mask == 0, float("-inf")), dim=-1)
        return (w @ v).transpose(1, 2).reshape(b, t, d)
