"""A residual network of torchvision classifies images one batch after another."""

import argparse

import torch
from torchvision.models import resnet18

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()

model = resnet18(weights=None).to(args.device).eval()
found = []
with torch.no_grad():
    for _ in range(5):
        found += model(torch.randn(4, 3, 224, 224, device=args.device)).argmax(1).tolist()
print(len(found))
