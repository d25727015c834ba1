"""States that cross batches, and states that do not."""
import torch
from torch import nn


class Lm(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(8, 8)
        self.head = nn.Linear(8, 100)

    def forward(self, x, hidden=None):
        out, hidden = self.rnn(x, hidden)
        return self.head(out), hidden


def repackage(h):
    return tuple(part.detach() for part in h)


def wrong(loader):
    model = Lm()
    hidden = None
    optimizer = torch.optim.SGD(model.parameters(), lr=1)
    for x, y in loader:
        optimizer.zero_grad()
        out, hidden = model(x, hidden)  # <- hidden-state-carried-across-batches
        loss = nn.functional.cross_entropy(out, y)
        loss.backward(retain_graph=True)
        optimizer.step()


def right(loader):
    model = Lm()
    hidden = None
    for x, y in loader:
        if hidden is not None:
            hidden = repackage(hidden)
        out, hidden = model(x, hidden)
        nn.functional.cross_entropy(out, y).backward()


def fresh(loader):
    model = Lm()
    for x, y in loader:
        hidden = None
        loss = 0
        for t in range(x.size(0)):
            out, hidden = model(x[t], hidden)
            loss = loss + nn.functional.cross_entropy(out, y[t])
        loss.backward()


class Agent:
    def __init__(self):
        self.model = Lm()
        self.state = None

    def fit(self, loader):
        for x, y in loader:
            out, self.state = self.model(x, self.state)  # <- hidden-state-carried-across-batches
            out.sum().backward(retain_graph=True)
