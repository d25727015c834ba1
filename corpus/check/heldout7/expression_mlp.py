import numpy as np
import scanpy as sc
import torch
import torch.nn as nn

adata = sc.read_h5ad("pbmc_500k.h5ad")
X = adata.X.toarray()
mu, sd = X.mean(0, dtype=np.float64), X.std(0, dtype=np.float64) + 1e-8
X = (X - mu) / sd
y = adata.obs["cell_type"].cat.codes.to_numpy().astype(np.int64)

device = torch.device("cuda")
net = nn.Sequential(nn.Linear(X.shape[1], 512), nn.ReLU(), nn.Linear(512, int(y.max()) + 1)).to(device)
opt = torch.optim.Adam(net.parameters())
perm = np.random.permutation(len(X))

for epoch in range(20):
    for idx in np.array_split(perm, len(X) // 4096):
        xb = torch.from_numpy(X[idx]).to(device)
        yb = torch.from_numpy(y[idx]).to(device)
        logits = net(xb.float())
        loss = nn.functional.cross_entropy(logits, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())

torch.save(net.state_dict(), "celltype_mlp.pt")
