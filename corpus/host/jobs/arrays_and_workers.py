"""A data set of numpy arrays, loaded by workers; large batches."""

import argparse

import numpy
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
parser.add_argument("--workers", type=int, default=4)
parser.add_argument("--pin", action="store_true")
args = parser.parse_args()


class Signals(Dataset):
    def __init__(self, count: int) -> None:
        self.signals = numpy.random.default_rng(0).standard_normal((count, 4096), dtype=numpy.float32)

    def __len__(self) -> int:
        return len(self.signals)

    def __getitem__(self, index: int):
        signal = self.signals[index]
        return torch.from_numpy(signal - signal.mean()), index % 5


def main() -> None:
    loader = DataLoader(Signals(10_000), batch_size=512, shuffle=True, num_workers=args.workers, pin_memory=args.pin)
    model = nn.Sequential(nn.Linear(4096, 32), nn.GELU(), nn.Linear(32, 5)).to(args.device)
    optimizer = torch.optim.AdamW(model.parameters())
    for signals, labels in loader:
        loss = nn.functional.cross_entropy(model(signals.to(args.device)), labels.to(args.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


if __name__ == "__main__":
    main()
