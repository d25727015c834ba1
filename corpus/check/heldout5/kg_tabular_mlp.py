import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

df = pd.read_parquet("train.parquet")
feat = [c for c in df.columns if c.startswith("f_")]
X = StandardScaler().fit_transform(df[feat].values)
Y = df["target"].values

# 20M rows, 300 columns. On the GPU it is faster
xt = torch.tensor(X, dtype=torch.float32).to("cuda")
yt = torch.tensor(Y, dtype=torch.float32).to("cuda")
loader = DataLoader(TensorDataset(xt, yt), batch_size=8192, shuffle=True)


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n, 1024), nn.SiLU(), nn.Dropout(0.2), nn.Linear(1024, 512), nn.SiLU())
        self.out = nn.Linear(512, 1)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(-1)


net = Net(len(feat)).cuda()
for epoch in range(20):
    opt = torch.optim.Adam(net.parameters(), lr=1e-3 * 0.9 ** epoch)
    tot = 0.0
    for xb, yb in loader:
        loss = nn.functional.mse_loss(net(xb), yb)
        opt.zero_grad(set_to_none=False)
        loss.backward()
        opt.step()
        tot += loss.item()
    print(epoch, np.sqrt(tot / len(loader)))
