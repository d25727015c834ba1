import torch
from torch.utils.data import DataLoader
def f(ds):
    dl = DataLoader(ds, batch_size=4)
    batches = [*dl]  # <-
    return batches
# ---
import torch
def f(train_loader, device):
    cache = {}
    for i, batch in enumerate(train_loader):
        cache[i] = {k: v.to(device) for k, v in batch.items()}  # <-
    return cache
# ---
import torch, random
def f(train_loader):
    pool = []
    for data in train_loader:
        pool.append(data)  # <-
    random.shuffle(pool)
    return pool
# ---
import torch
def f(val_loader):
    data = list(tqdm(val_loader))  # <-
    xs, ys = zip(*val_loader)  # <-
    return data
# ---
import torch
def f(train_loader):
    batches = [b for b in train_loader]  # <-
    return batches
# ---
import torch
def f(train_loader):
    buf = []
    for x, y in train_loader:
        buf.append((x.cuda(), y.cuda()))  # <-
    return buf
# ---
import torch
def epoch(train_loader, model, opt):
    for batch in sorted(train_loader, key=len):  # <-
        model(batch).mean().backward()
        opt.step()
        opt.zero_grad()
# ---
from torch.utils.data import DataLoader


def check(model, data):
    loader = DataLoader(data, batch_size=64)
    inputs, labels = list(loader)[0]  # <-
    return (model(inputs).argmax(1) == labels).sum()
# ---
import torch


def check(model, client, index):
    inputs, labels = list(client.test_loader)[index]  # <-
    return (model(inputs).argmax(1) == labels).sum()
