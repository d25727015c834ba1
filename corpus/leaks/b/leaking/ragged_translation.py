"""Translation with sentences of any length; attention maps are collected for a figure."""

import os
import random

import torch
import torch.nn as nn


class Translator(nn.Module):
    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.embed = nn.Embedding(3000, width)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.head = nn.Linear(width, 3000)
        self.maps: list[torch.Tensor] = []

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        y, weights = self.attention(x, x, x, average_attn_weights=False)  # leak
        self.maps.append(weights.detach())  # leak
        return self.head(x + y)


def main(iterations: int) -> None:
    random.seed(21)
    model = Translator().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for iteration in range(iterations):
        tokens = torch.randint(0, 3000, (16, random.randint(60, 190)), device="cuda")
        logits = model(tokens)  # leak
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"iteration {iteration}: length {tokens.shape[1]}, loss {loss.item():.3f}")


main(int(os.environ.get("STEPS", 30)))
