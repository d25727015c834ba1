"""Keeps an array of numpy for every batch of an evaluation, stacked at the end."""

import argparse

import numpy
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
parser.add_argument("--batches", type=int, default=120)
args = parser.parse_args()

model = nn.Sequential(nn.Linear(128, 32), nn.ReLU(), nn.Linear(32, 2048)).to(args.device).eval()
features = []
with torch.inference_mode():
    for _ in range(args.batches):
        output = model(torch.randn(300, 128, device=args.device))
        features.append(output.cpu().numpy().astype(numpy.float32))
matrix = numpy.concatenate(features)
print(matrix.shape, matrix.mean())
