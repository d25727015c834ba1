"""A multilayer perceptron on tensors held in memory, Adam."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
parser.add_argument("--epochs", type=int, default=1)
args = parser.parse_args()

torch.manual_seed(0)
data = TensorDataset(torch.randn(60_000, 784), torch.randint(0, 10, (60_000,)))
loader = DataLoader(data, batch_size=3000, shuffle=True)
model = nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))
model.to(args.device)
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(args.epochs):
    for inputs, labels in loader:
        loss = nn.functional.cross_entropy(model(inputs.to(args.device)), labels.to(args.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
