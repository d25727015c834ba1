"""Records held as lists of dictionaries, a bag of words, no workers."""

import argparse
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--records", type=int, default=40_000)
args = parser.parse_args()


class Records(Dataset):
    def __init__(self, count: int) -> None:
        choose = random.Random(0)
        self.records = [
            {"tokens": [choose.randrange(1000, 30_000) for _ in range(40)], "label": choose.randrange(4), "name": f"record {n}"}
            for n in range(count)
        ]

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, index: int):
        record = self.records[index]
        return torch.tensor(record["tokens"]), record["label"]


class Bag(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.EmbeddingBag(30_000, 128)
        self.head = nn.Linear(128, 4)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.embed(tokens))


if __name__ == "__main__":
    loader = DataLoader(Records(args.records), batch_size=256, shuffle=True, num_workers=args.workers)
    model = Bag().to(args.device)
    optimizer = torch.optim.Adagrad(model.parameters())
    for tokens, labels in loader:
        loss = nn.functional.cross_entropy(model(tokens.to(args.device)), labels.to(args.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())
