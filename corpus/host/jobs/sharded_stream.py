"""Shards of pickled samples on disk, streamed through a shuffle buffer."""

import argparse
import os
import pickle
import random
import tempfile

import numpy
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
parser.add_argument("--workers", type=int, default=2)
args = parser.parse_args()


def write_shards(folder: str, count: int) -> list[str]:
    choose = numpy.random.default_rng(5)
    paths = [os.path.join(folder, f"{number:03}.pickle") for number in range(count)]
    for path in paths:
        samples = [(choose.random((8, 80), dtype=numpy.float32), int(choose.integers(10))) for _ in range(2000)]
        with open(path, "wb") as file:
            pickle.dump(samples, file)
    return paths


class Shards(IterableDataset):
    def __init__(self, paths: list[str], buffered: int) -> None:
        self.paths = paths
        self.buffered = buffered

    def __iter__(self):
        worker = get_worker_info()
        buffer, choose = [], random.Random(0)
        for path in self.paths[worker.id :: worker.num_workers] if worker else self.paths:
            with open(path, "rb") as file:
                samples = pickle.load(file)
            for sample in samples:
                buffer.append(sample)
                if len(buffer) > self.buffered:
                    at = choose.randrange(len(buffer))
                    buffer[at], buffer[-1] = buffer[-1], buffer[at]
                    yield buffer.pop()
        yield from buffer


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        loader = DataLoader(Shards(write_shards(folder, 10), 3000), batch_size=128, num_workers=args.workers)
        model = nn.Sequential(nn.Conv1d(8, 32, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(8), nn.Flatten(), nn.Linear(256, 10))
        model.to(args.device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for signal, label in loader:
            loss = nn.functional.cross_entropy(model(signal.to(args.device)), label.to(args.device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(loss.item())


if __name__ == "__main__":
    main()
