"""Sentences held as Python strings, encoded by two workers in every epoch."""

import argparse
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
parser.add_argument("--workers", type=int, default=2)
args = parser.parse_args()
WORDS = ["memory", "tensor", "host", "worker", "batch", "copy", "page", "list", "epoch", "loader"]
INDEX = {word: number + 1 for number, word in enumerate(WORDS)}


class Sentences(Dataset):
    def __init__(self, count: int) -> None:
        choose = random.Random(1)
        self.sentences = [" ".join(choose.choices(WORDS, k=30)) for _ in range(count)]
        self.labels = [choose.random() for _ in range(count)]

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, index: int):
        return torch.tensor([INDEX[word] for word in self.sentences[index].split()]), self.labels[index]


def collate(batch):
    return pad_sequence([tokens for tokens, _ in batch], batch_first=True), torch.tensor([label for _, label in batch])


def main() -> None:
    loader = DataLoader(
        Sentences(150_000), batch_size=1000, shuffle=True, num_workers=args.workers, collate_fn=collate, prefetch_factor=4
    )
    model = nn.Sequential(nn.Embedding(11, 64), nn.Flatten(), nn.Linear(64 * 30, 1)).to(args.device)
    optimizer = torch.optim.Adam(model.parameters())
    for tokens, labels in loader:
        loss = (model(tokens.to(args.device)).squeeze(1) - labels.to(args.device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


if __name__ == "__main__":
    main()
