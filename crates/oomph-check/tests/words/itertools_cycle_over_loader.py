import torch
from itertools import cycle
class T:
    def fit(self):
        for a, b in zip(self.loader_a, cycle(self.loader_b)):  # <-
            self.step(a, b)
# ---
from itertools import cycle
import torch
from ssl_data import labelled_loader, make_unlabelled_loader
def steps(count):
    first = cycle(labelled_loader(64))  # <-
    for step, pair in zip(range(count), zip(first, cycle(make_unlabelled_loader(448)))):  # <-
        print(step, pair)
# ---
import itertools
import torch
def run(data, steps):
    endless = itertools.cycle(data.train_dataloader())  # <-
    for _ in range(steps):
        print(next(endless))
# ---
from itertools import cycle
import torch


def epoch(model, labelled, unlabelled, optimizer):
    for (x, y), u in zip(cycle(labelled), unlabelled):  # <-
        optimizer.zero_grad()
        (model(x) - y + model(u)).mean().backward()
        optimizer.step()
# ---
from itertools import cycle
import torch
from parts import make_loader
pairs = cycle(make_loader("a", batch_size=8))  # <-
for step in range(100):
    x, y = next(pairs)
# ---
import itertools
import torch
from data import build_dataloaders

def train(net, opt, args):
    labelled, rest = build_dataloaders(args)
    endless = itertools.cycle(rest)  # <-
    for x, y in labelled:
        loss = (net(x) - y).pow(2).mean() + net(next(endless)).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
