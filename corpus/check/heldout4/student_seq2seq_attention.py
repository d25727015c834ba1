import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttn(nn.Module):
    """My multi head attention from the lecture slides."""

    def __init__(self, d_model=512, heads=8, max_len=4096):
        super().__init__()
        assert d_model % heads == 0
        self.h, self.dk = heads, d_model // heads
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model)
        self.o = nn.Linear(d_model, d_model)

    def _heads(self, t):
        b, n, _ = t.shape
        return t.view(b, n, self.h, self.dk).permute(0, 2, 1, 3)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (self._heads(f(x)) for f in (self.q, self.k, self.v))
        scores = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(self.dk)
        causal = torch.ones(n, n, device=x.device).tril()
        scores = scores.masked_fill(causal == 0, -1e9)
        p = F.softmax(scores, dim=-1)
        y = torch.einsum("bhij,bhjd->bhid", p, v)
        y = y.permute(0, 2, 1, 3).reshape(b, n, d)
        return self.o(y)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.attn, self.n1, self.n2 = SelfAttn(d), nn.LayerNorm(d), nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        x = x + self.attn(self.n1(x))
        return x + self.mlp(self.n2(x))


class TinyLM(nn.Module):
    def __init__(self, vocab=32000, d=512, depth=8):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.blocks = nn.Sequential(*[Block(d) for _ in range(depth)])
        self.head = nn.Linear(d, vocab)

    def forward(self, ids, targets):
        self.features = self.blocks(self.emb(ids))  # for the t-SNE figure
        logits = self.head(self.features)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())
