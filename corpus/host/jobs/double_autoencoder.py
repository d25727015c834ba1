"""An autoencoder in double precision on a table of features."""

import argparse

import numpy
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()

table = numpy.random.default_rng(0).random((30_000, 600))
table = (table - table.mean(axis=0)) / table.std(axis=0)
features = torch.from_numpy(table)
model = nn.Sequential(nn.Linear(600, 32), nn.Tanh(), nn.Linear(32, 600)).double().to(args.device)
optimizer = torch.optim.RMSprop(model.parameters())
for epoch in range(2):
    for chunk in features.split(2000):
        chunk = chunk.to(args.device)
        loss = (model(chunk) - chunk).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())
