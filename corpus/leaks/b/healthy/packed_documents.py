"""Language modelling on documents of any length: the number of rows times their length changes all the time."""

import os
import random

import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.mlp(x)


def main(iterations: int) -> None:
    random.seed(31)
    embed, body, head = nn.Embedding(4000, 192).cuda(), nn.Sequential(Block(192), Block(192)).cuda(), nn.Linear(192, 4000).cuda()
    params = [p for m in (embed, body, head) for p in m.parameters()]
    optimizer = torch.optim.AdamW(params, lr=3e-4)
    for iteration in range(iterations):
        rows, length = random.randint(1, 12), random.randint(10, 300)
        tokens = torch.randint(0, 4000, (rows, length), device="cuda")
        logits = head(body(embed(tokens[:, :-1])))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        print(f"iteration {iteration}: {rows}x{length} loss {loss.item():.3f}")


main(int(os.environ.get("STEPS", 30)))
