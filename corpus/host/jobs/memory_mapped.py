"""Data that is mapped from a file, read batch by batch."""

import argparse
import os
import tempfile

import numpy
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "features.bin")
    features = numpy.memmap(path, dtype=numpy.float32, mode="w+", shape=(40_000, 1024))
    for start in range(0, len(features), 1000):
        features[start : start + 1000] = start
    features.flush()
    features = numpy.memmap(path, dtype=numpy.float32, mode="r", shape=(40_000, 1024))
    model = nn.Sequential(nn.Linear(1024, 64), nn.ReLU(), nn.Linear(64, 2)).to(args.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for start in range(0, len(features), 1000):
        batch = torch.from_numpy(numpy.array(features[start : start + 1000])).to(args.device)
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())
