import torch
from torch import nn
import torch.nn.functional as F


class Decoder(nn.Module):
    def __init__(self, vocab, d=512, heads=8, layers=6):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.self_attn = nn.ModuleList(nn.MultiheadAttention(d, heads, batch_first=True) for _ in range(layers))
        self.cross = nn.ModuleList(nn.MultiheadAttention(d, heads, batch_first=True) for _ in range(layers))
        self.ff = nn.ModuleList(nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)) for _ in range(layers))
        self.out = nn.Linear(d, vocab)

    def forward(self, ids, mem):
        x = self.emb(ids)
        T = ids.size(1)
        mask = torch.triu(torch.ones(T, T, device=ids.device), 1).bool()
        for sa, ca, ff in zip(self.self_attn, self.cross, self.ff):
            x = x + sa(x, x, x, attn_mask=mask, need_weights=False)[0]
            x = x + ca(x, mem, mem)[0]
            x = x + ff(x)
        return self.out(x)


def step(dec, mem, ids, eps=0.1):
    logits = dec(ids[:, :-1], mem)
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), label_smoothing=eps)
