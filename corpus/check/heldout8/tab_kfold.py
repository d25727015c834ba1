"""Five folds of a tabular transformer, out-of-fold predictions for stacking."""
import copy

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from sklearn.model_selection import KFold

from ft import FTConfig, FTTransformer

df = pd.read_parquet("train.parquet")
y = df.pop("target").to_numpy("float32")
num_cols = [c for c in df if c.startswith("n_")]
cat_cols = [c for c in df if c.startswith("c_")]
device = "cuda"


def batches(idx, bs, shuffle):
    idx = np.random.permutation(idx) if shuffle else idx
    for s in range(0, len(idx), bs):
        rows = idx[s:s + bs]
        num = torch.from_numpy(df[num_cols].to_numpy("float32")[rows]).to(device)
        cat = torch.from_numpy(df[cat_cols].to_numpy("int64")[rows]).to(device)
        yield num, cat, torch.from_numpy(y[rows]).to(device)


def rmse_of(model, idx):
    model.eval()
    se, n = 0.0, 0
    for num, cat, t in batches(idx, 4096, False):
        se += F.mse_loss(model(num, cat), t, reduction="sum")
        n += len(t)
    model.train()
    return (se / n).sqrt().item()


oof = np.zeros(len(df), "float32")
for fold, (tr, va) in enumerate(KFold(5, shuffle=True, random_state=1).split(df)):
    model = FTTransformer(FTConfig(len(num_cols), tuple(df[c].max() + 1 for c in cat_cols))).to(device)
    opt = torch.optim.AdamW(model.parameters(), 1e-4, weight_decay=1e-5)
    best, best_model = 1e9, None
    for ep in range(50):
        for num, cat, t in batches(tr, 1024, True):
            loss = F.mse_loss(model(num, cat), t)
            loss.backward()
            opt.step()
            opt.zero_grad(set_to_none=False)
        score = rmse_of(model, va)
        if score < best:
            best = score
            best_model = copy.deepcopy(model)
    with torch.inference_mode():
        oof[va] = torch.cat([best_model(a, b).cpu() for a, b, _ in batches(va, 4096, False)]).numpy()
    print(fold, best)
np.save("oof.npy", oof)
