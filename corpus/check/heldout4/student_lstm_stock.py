"""Predict next-day returns with an LSTM; results table goes into the thesis."""
import numpy as np
import pandas as pd
import torch
from torch import nn


def windows(series, width=60):
    x = np.stack([series[i:i + width] for i in range(len(series) - width)])
    y = series[width:]
    return x, y


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 256, num_layers=3, batch_first=True)
        self.fc = nn.Linear(256, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])


df = pd.read_csv("prices.csv")
x, y = windows(df["ret"].to_numpy())
split = int(0.8 * len(x))

net = Forecaster().cuda()
opt = torch.optim.Adam(net.parameters(), 1e-3)
lossf = nn.MSELoss()

for epoch in range(30):
    perm = np.random.permutation(split)
    epoch_loss = 0
    for i in range(0, split, 256):
        idx = perm[i:i + 256]
        xb = torch.tensor(x[idx]).float().unsqueeze(-1).cuda()
        yb = torch.tensor(y[idx]).float().unsqueeze(-1).cuda()
        opt.zero_grad()
        loss = lossf(net(xb), yb)
        loss.backward()
        opt.step()
        epoch_loss += loss
    print(epoch, epoch_loss)

torch.no_grad()
net.eval()
preds = torch.empty(0, 1).cuda()
for i in range(split, len(x), 256):
    xb = torch.tensor(x[i:i + 256]).float().unsqueeze(-1).cuda()
    preds = torch.cat([preds, net(xb)])
np.save("preds.npy", preds.detach().cpu().numpy())
