"""Windows at random places of a file of tokens that is mapped, a small GPT written out, gradient accumulation."""

import argparse
import os
import tempfile

import numpy
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()
WINDOW, WIDTH, WORDS = 128, 192, 8000


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mix, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = [part.unflatten(-1, (6, -1)).transpose(1, 2) for part in self.mix(self.norm1(x)).chunk(3, -1)]
        attended = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.feed(self.norm2(x))


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "train.bin")
    numpy.random.default_rng(0).integers(0, WORDS, 20_000_000).astype(numpy.uint16).tofile(path)
    model = nn.Sequential(nn.Embedding(WORDS, WIDTH), Block(), Block(), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS))
    model.to(args.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for step in range(12):
        optimizer.zero_grad(set_to_none=True)
        for _ in range(3):
            tokens = numpy.memmap(path, dtype=numpy.uint16, mode="r")
            starts = torch.randint(len(tokens) - WINDOW - 1, (6,))
            x = torch.stack([torch.from_numpy(tokens[at : at + WINDOW].astype(numpy.int64)) for at in starts])
            y = torch.stack([torch.from_numpy(tokens[at + 1 : at + 1 + WINDOW].astype(numpy.int64)) for at in starts])
            logits = model(x.to(args.device))
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.to(args.device).flatten())
            (loss / 3).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(loss.item())
