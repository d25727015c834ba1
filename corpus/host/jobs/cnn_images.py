"""A convolutional network on images that are kept as bytes and converted batch by batch, SGD with momentum."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
parser.add_argument("--batch", type=int, default=64)
args = parser.parse_args()


class Images(Dataset):
    def __init__(self, count: int) -> None:
        self.images = torch.randint(0, 256, (count, 3, 64, 64), dtype=torch.uint8)
        self.labels = torch.randint(0, 20, (count,))

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int):
        return self.images[index].float() / 255, self.labels[index]


def block(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2))


model = nn.Sequential(block(3, 16), block(16, 24), nn.Flatten(), nn.Linear(24 * 256, 20)).to(args.device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for images, labels in DataLoader(Images(640), batch_size=args.batch, shuffle=True):
    loss = nn.functional.cross_entropy(model(images.to(args.device)), labels.to(args.device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
