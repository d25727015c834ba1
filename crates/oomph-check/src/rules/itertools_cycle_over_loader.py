# --- bad
import itertools
import torch

batches = itertools.cycle(train_loader)
for step in range(10_000):
    x, y = next(batches)
# --- good
import torch

def endless(loader):
    while True:
        yield from loader

batches = endless(train_loader)
for step in range(10_000):
    x, y = next(batches)
# --- bad
from itertools import cycle
from torch.utils.data import DataLoader

labelled = DataLoader(small, batch_size=16, shuffle=True)
unlabelled = DataLoader(large, batch_size=64, shuffle=True)
for (x, y), u in zip(cycle(labelled), unlabelled):
    print(x, y, u)
# --- good
import itertools
from torch.utils.data import DataLoader

labelled = DataLoader(small, batch_size=16, shuffle=True)
unlabelled = DataLoader(large, batch_size=64, shuffle=True)
again = itertools.chain.from_iterable(itertools.repeat(labelled))
for (x, y), u in zip(again, unlabelled):
    print(x, y, u)
# --- silent
import itertools
import torch

colours = itertools.cycle(['red', 'green', 'blue'])
# --- silent
import torch

def cycle(loader):
    while True:
        for batch in loader:
            yield batch

batches = cycle(train_loader)
# --- silent
import itertools
import torch

turns = itertools.cycle(train_loaders)
# --- silent
import itertools
import torch

def train(train_loader, steps):
    turns = itertools.cycle(train_loader)
    for step in range(steps):
        train_loader = next(turns)
        for x, y in train_loader:
            learn(x, y)
# --- silent
import itertools
import torch

def pairs(source_loader, target_loader):
    return list(zip(itertools.cycle(source_loader), target_loader))
