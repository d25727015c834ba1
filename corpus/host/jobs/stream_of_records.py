"""An iterable data set whose two workers make what they yield."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()


class Stream(IterableDataset):
    def __iter__(self):
        worker = get_worker_info()
        generator = torch.Generator().manual_seed(worker.id if worker else 0)
        for _ in range(1500):
            yield torch.rand(16, 512, generator=generator), 1.0


def main() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(16 * 512, 16), nn.ReLU(), nn.Linear(16, 1)).to(args.device)
    optimizer = torch.optim.Adam(model.parameters())
    for inputs, targets in DataLoader(Stream(), batch_size=100, num_workers=2):
        loss = (model(inputs.to(args.device)).squeeze(1) - targets.float().to(args.device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


if __name__ == "__main__":
    main()
