import numpy as np
import polars as pl
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

FEATS = [f"f{i}" for i in range(600)]
# 48M rows of order book snapshots
df = pl.read_parquet("train/*.parquet", columns=FEATS + ["target"])
X = df.select(FEATS).to_numpy().astype(np.float32)
y = df["target"].to_numpy().astype(np.float32)

device = "cuda:0"
train_ds = TensorDataset(torch.from_numpy(X).to(device), torch.from_numpy(y).to(device))
train_dl = DataLoader(train_ds, batch_size=65536, shuffle=True)


def mlp(n_in, width=1024, depth=4, p=0.2):
    layers = []
    for _ in range(depth):
        layers += [nn.Linear(n_in, width), nn.BatchNorm1d(width), nn.SiLU(), nn.Dropout(p)]
        n_in = width
    return nn.Sequential(*layers, nn.Linear(width, 1))


model = mlp(len(FEATS)).to(device)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 4e-3, epochs=5, steps_per_epoch=len(train_dl))

norms = []
for epoch in range(5):
    for xb, yb in train_dl:
        loss = nn.functional.mse_loss(model(xb).squeeze(1), yb)
        opt.zero_grad()
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 1.0))
        opt.step()
        sched.step()
    print(epoch, loss.item(), torch.stack(norms).mean().item())
