import torch
import torch.nn as nn


class MemoryBlock(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, heads, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.ReLU(), nn.Linear(4 * d, d))

    def forward(self, x, mem):
        ctx = x if mem is None else torch.cat([mem, x], 1)
        y = x + self.attn(x, ctx, ctx, need_weights=False)[0]
        return y + self.ff(y)


def train_segments(block, head, segments, opt, mem_len=256):
    mem = None
    for x, y in segments:
        h = block(x.cuda(), mem)
        loss = nn.functional.cross_entropy(head(h).flatten(0, 1), y.cuda().flatten())
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()
        mem = h[:, -mem_len:]
