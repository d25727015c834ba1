"""Images of different sizes as a list of arrays, cropped, resized and flipped for each use, a validation after each epoch."""

import argparse

import numpy
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
parser.add_argument("--workers", type=int, default=0)
args = parser.parse_args()
TRAIN = transforms.Compose([
    transforms.ToTensor(), transforms.RandomResizedCrop(96, antialias=True), transforms.RandomHorizontalFlip(),
    transforms.ColorJitter(0.2, 0.2),
])  # fmt: skip
TEST = transforms.Compose([transforms.ToTensor(), transforms.Resize((96, 96), antialias=True)])


class Photos(Dataset):
    def __init__(self, count: int, transform) -> None:
        choose = numpy.random.default_rng(count)
        sizes = choose.integers(120, 360, (count, 2))
        self.photos = [choose.integers(0, 256, (*size, 3), dtype=numpy.uint8) for size in sizes]
        self.transform = transform

    def __len__(self) -> int:
        return len(self.photos)

    def __getitem__(self, index: int):
        return self.transform(self.photos[index]), index % 5


def main() -> None:
    layers = [nn.Conv2d(3, 24, 5, stride=2), nn.ReLU(), nn.Conv2d(24, 48, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1)]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(48, 5)).to(args.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    training = DataLoader(Photos(320, TRAIN), batch_size=32, shuffle=True, num_workers=args.workers)
    held = DataLoader(Photos(160, TEST), batch_size=80, num_workers=args.workers)
    for _ in range(2):
        model.train()
        for images, labels in training:
            loss = nn.functional.cross_entropy(model(images.to(args.device)), labels.to(args.device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        right = 0
        with torch.no_grad():
            for images, labels in held:
                right += (model(images.to(args.device)).argmax(1).cpu() == labels).sum().item()
        print(loss.item(), right)


if __name__ == "__main__":
    main()
