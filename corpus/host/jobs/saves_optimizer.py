"""A checkpoint of model and optimizer in every epoch, and training that goes on from the last one."""

import argparse
import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()


def build():
    model = nn.Sequential(nn.Linear(400, 2000), nn.ReLU(), nn.Linear(2000, 2000), nn.ReLU(), nn.Linear(2000, 10))
    model.to(args.device)
    return model, torch.optim.Adam(model.parameters())


def train(model, optimizer, loader) -> float:
    for inputs, labels in loader:
        loss = nn.functional.cross_entropy(model(inputs.to(args.device)), labels.to(args.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


loader = DataLoader(TensorDataset(torch.randn(3000, 400), torch.randint(0, 10, (3000,))), batch_size=200, shuffle=True)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "last.pt")
    model, optimizer = build()
    for epoch in range(3):
        train(model, optimizer, loader)
        torch.save({"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    again, optimizer_again = build()
    checkpoint = torch.load(path, map_location=args.device)
    again.load_state_dict(checkpoint["model"])
    optimizer_again.load_state_dict(checkpoint["optimizer"])
    print(train(again, optimizer_again, loader))
