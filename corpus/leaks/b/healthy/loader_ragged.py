"""A DataLoader with workers, a collate function that pads, and lengths from a heavy-tailed distribution."""

import os
import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Sentences(Dataset):
    def __init__(self, count: int) -> None:
        generator = random.Random(47)
        self.lengths = [min(int(generator.paretovariate(1.2) * 12), 400) for _ in range(count)]

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.randint(1, 1000, (self.lengths[index],))


def collate(rows: list[torch.Tensor]) -> torch.Tensor:
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


def main(iterations: int) -> None:
    loader = DataLoader(Sentences(iterations * 16), batch_size=16, num_workers=2, collate_fn=collate)
    model = nn.Sequential(nn.Embedding(1000, 256), nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 1000)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for iteration, tokens in enumerate(loader):
        tokens = tokens.cuda()
        loss = nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("iteration", iteration, tuple(tokens.shape), loss.item())


if __name__ == "__main__":
    main(int(os.environ.get("STEPS", 30)))
