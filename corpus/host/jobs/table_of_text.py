"""A table read from text: every row is parsed in Python, then all of it becomes one tensor."""

import argparse
import csv
import os
import random
import tempfile

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "table.csv")
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([f"{random.random():.6f}" for _ in range(41)] for _ in range(30_000))
    with open(path, newline="") as file:
        rows = [[float(word) for word in row] for row in csv.reader(file)]
table = torch.tensor(rows)
data = torch.utils.data.TensorDataset(table[:, :40], table[:, 40:])
loader = torch.utils.data.DataLoader(data, batch_size=256, shuffle=True)
model = nn.Sequential(nn.Linear(40, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 1)).to(args.device)
optimizer = torch.optim.Adam(model.parameters())
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3)
for epoch in range(3):
    for inputs, targets in loader:
        loss = nn.functional.mse_loss(model(inputs.to(args.device)), targets.to(args.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    schedule.step()
print(loss.item())
