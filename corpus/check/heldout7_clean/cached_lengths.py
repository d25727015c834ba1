from functools import lru_cache

import torch
import torch.nn as nn


@lru_cache(maxsize=None)
def buckets(max_len, step):
    """Plain integers, nothing on the GPU."""
    return tuple(range(step, max_len + step, step))


@lru_cache(maxsize=1024)
def bucket_of(n, max_len=1024, step=128):
    for b in buckets(max_len, step):
        if n <= b:
            return b
    return max_len


def pad_batch(seqs, pad):
    width = bucket_of(max(len(s) for s in seqs))
    out = torch.full((len(seqs), width), pad, dtype=torch.long)
    for i, s in enumerate(seqs):
        out[i, :len(s)] = torch.as_tensor(s[:width])
    return out


class Encoder(nn.Module):
    def __init__(self, vocab=33, d=320):
        super().__init__()
        self.emb = nn.Embedding(vocab, d, padding_idx=1)
        self.rnn = nn.GRU(d, d, batch_first=True)

    def forward(self, ids):
        return self.rnn(self.emb(ids))[1][-1]
