"""Self-training: each round's pseudo-labelled pool is concatenated to the training set and none is ever dropped."""
import os

import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, SubsetRandomSampler, TensorDataset

device = "cuda"
torch.manual_seed(0)
ROUNDS = int(os.environ.get("STEPS", 60))

base = TensorDataset(torch.randn(512, 256), torch.randint(0, 10, (512,)))
model = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, 10)).to(device)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)


@torch.no_grad()
def pseudo_label(n=1800):
    pool = torch.randn(n, 256)  # leak
    model.eval()
    labels = model(pool.to(device)).argmax(1).cpu()
    model.train()
    return TensorDataset(pool, labels)  # leak


def train_round(ds, batches=4, bs=64):
    picks = torch.randperm(len(ds))[: batches * bs].tolist()
    total = 0.0
    for x, y in DataLoader(ds, batch_size=bs, sampler=SubsetRandomSampler(picks)):
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    return total / batches


train_set = base
for rnd in range(ROUNDS):
    loss = train_round(train_set)
    train_set = ConcatDataset([*getattr(train_set, "datasets", [train_set]), pseudo_label()])  # leak
    print(f"round {rnd}: loss {loss:.4f}, {len(train_set)} examples")
