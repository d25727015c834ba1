"""A language model written by hand: rotary positions, tied weights, bf16 autocast, accumulation over four batches."""

import torch
import torch.nn.functional as F
from torch import nn

WORDS, WIDTH, HEADS, LENGTH = 50_304, 768, 12, 512


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate, self.up, self.down = nn.Linear(WIDTH, 2048, bias=False), nn.Linear(WIDTH, 2048, bias=False), nn.Linear(2048, WIDTH, bias=False)

    def forward(self, x, cos, sin):
        q, k, v = self.qkv(self.norm1(x)).view(*x.shape[:2], 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        q, k = (t * cos + torch.cat([-t[..., 32:], t[..., :32]], -1) * sin for t in (q, k))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(8)])
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.words.weight
        self.register_buffer("angles", torch.outer(torch.arange(LENGTH), 1e4 ** (-torch.arange(32) / 32)).repeat(1, 2))

    def forward(self, tokens, targets=None):
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x, self.angles.cos(), self.angles.sin())
        logits = self.head(x)
        return logits, F.cross_entropy(logits.view(-1, WORDS), targets.reshape(-1))


model = Model().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
for step in range(6):
    for part in range(4):
        tokens = torch.randint(0, WORDS, (8, LENGTH + 1), device="cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            _, loss = model(tokens[:, :-1], tokens[:, 1:])
        (loss / 4).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
