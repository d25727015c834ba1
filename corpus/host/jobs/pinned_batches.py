"""Batches through pinned memory where there is a card; two workers."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()


def main() -> None:
    data = TensorDataset(torch.randn(6000, 3, 48, 48), torch.randint(0, 7, (6000,)))
    is_on_card = args.device.startswith("cuda")
    loader = DataLoader(data, batch_size=300, num_workers=2, pin_memory=is_on_card, persistent_workers=True)
    model = nn.Sequential(nn.Conv2d(3, 8, 5, stride=4), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 11 * 11, 7))
    model.to(args.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(2):
        for images, labels in loader:
            loss = nn.functional.cross_entropy(model(images.to(args.device, non_blocking=True)), labels.to(args.device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(loss.item())


if __name__ == "__main__":
    main()
