"""A loaded checkpoint stays in scope while a model trains; deleting it after its last use must change nothing."""

import pathlib
import tempfile

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def batches():
    generator = torch.Generator().manual_seed(1)
    for _ in range(4):
        x = torch.randn(16, 6, generator=generator)
        yield x, (x.sum(1) > 0).long()


def main(path):
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    if path.exists():
        checkpoint = torch.load(path, map_location=device)
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        print("trained for", checkpoint["epochs"], "epochs")
    for epoch in range(3):
        for x, y in batches():
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epochs": 3}
    torch.save(state, path)


with tempfile.TemporaryDirectory() as folder:
    for _ in range(2):
        main(pathlib.Path(folder) / "last.pt")
