import math
import torch
import torch.nn as nn


class BertSelfAttention(nn.Module):
    def __init__(self, hidden=768, heads=12, p=0.1):
        super().__init__()
        self.heads, self.d = heads, hidden // heads
        self.q, self.k, self.v = (nn.Linear(hidden, hidden) for _ in range(3))
        self.drop = nn.Dropout(p)

    def split(self, t):
        b, s, _ = t.shape
        return t.view(b, s, self.heads, self.d).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.d)
        scores = scores + mask
        probs = self.drop(nn.functional.softmax(scores, dim=-1))
        ctx = torch.matmul(probs, v).permute(0, 2, 1, 3).contiguous()
        return ctx.view(*x.shape)


class Block(nn.Module):
    def __init__(self, hidden=768):
        super().__init__()
        self.att = BertSelfAttention(hidden)
        self.ln1, self.ln2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.ff = nn.Sequential(nn.Linear(hidden, 4 * hidden), nn.GELU(), nn.Linear(4 * hidden, hidden))

    def forward(self, x, mask):
        x = self.ln1(x + self.att(x, mask))
        return self.ln2(x + self.ff(x))


class MiniBert(nn.Module):
    def __init__(self, vocab=30522, layers=12, hidden=768, maxlen=512):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, hidden), nn.Embedding(maxlen, hidden)
        self.layers = nn.ModuleList(Block(hidden) for _ in range(layers))
        self.mlm = nn.Linear(hidden, vocab)

    def forward(self, ids, attention_mask):
        mask = (1.0 - attention_mask[:, None, None, :].float()) * -1e4
        h = self.tok(ids) + self.pos(torch.arange(ids.size(1), device=ids.device))
        all_h = []
        for layer in self.layers:
            h = layer(h, mask)
            all_h.append(h)
        self.last_hidden = torch.stack(all_h)  # for the probing plots in chapter 5
        return self.mlm(h)
