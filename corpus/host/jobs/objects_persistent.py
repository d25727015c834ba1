"""A column of texts as an array of objects, read in three epochs by workers that outlive them."""

import argparse

import numpy
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()


class Table(Dataset):
    def __init__(self, rows: int) -> None:
        choose = numpy.random.default_rng(3)
        names = ["".join(map(chr, choose.integers(97, 123, 60))) for _ in range(rows // 10)]
        self.text = numpy.array([f"{names[row % len(names)]} {row}" for row in range(rows)], dtype=object)
        self.price = choose.random(rows)

    def __len__(self) -> int:
        return len(self.text)

    def __getitem__(self, row: int):
        codes = torch.tensor([ord(letter) % 128 for letter in self.text[row][:48]])
        return codes, torch.tensor(self.price[row], dtype=torch.float32)


def main() -> None:
    loader = DataLoader(Table(60_000), batch_size=500, shuffle=True, num_workers=2, persistent_workers=True)
    model = nn.Sequential(nn.Embedding(128, 32), nn.Flatten(), nn.Linear(32 * 48, 128), nn.ReLU(), nn.Linear(128, 1))
    model.to(args.device)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        for codes, price in loader:
            loss = (model(codes.to(args.device)).squeeze(1) - price.to(args.device)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(loss.item())


if __name__ == "__main__":
    main()
