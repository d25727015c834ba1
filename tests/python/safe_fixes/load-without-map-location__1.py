"""A checkpoint is loaded with no word on where it goes; weights and losses must be the same when it goes to the CPU."""

import pathlib
import tempfile

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def build():
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))


def step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def resume(path, optimizer_path):
    model = build().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model.load_state_dict(torch.load(path))
    state = torch.load(optimizer_path)
    optimizer.load_state_dict(state["optimizer"])
    return model, optimizer


x = torch.randn(32, 6).to(device)
y = torch.randint(0, 2, (32,)).to(device)
model = build().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
print([step(model, optimizer, x, y) for _ in range(3)])
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "model.pt"
    optimizer_path = pathlib.Path(folder) / "optimizer.pt"
    torch.save(model.state_dict(), path)
    torch.save({"optimizer": optimizer.state_dict()}, optimizer_path)
    model, optimizer = resume(path, optimizer_path)
print([step(model, optimizer, x, y) for _ in range(3)])
print({name: value.double().sum().item() for name, value in model.state_dict().items()})
