"""CTR model; logical batch of 64k built from passes of 8k."""
import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def loader(path):
    z = np.load(path)
    return DataLoader(TensorDataset(torch.from_numpy(z["x"]).float(), torch.from_numpy(z["y"]).float()), 8192, shuffle=True)


def update(net, opt, data, lossf, chunks):
    opt.zero_grad()
    for k in range(chunks):
        for x, y in data:
            loss = lossf(net(x.cuda()).squeeze(1), y.cuda()) / chunks
            loss.backward()
    opt.step()
    return loss.item() * chunks


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("train")
    ap.add_argument("--chunks", type=int, default=8)
    args = ap.parse_args()
    dl = loader(args.train)
    width = dl.dataset.tensors[0].shape[1]
    net = nn.Sequential(nn.Linear(width, 2048), nn.ReLU(), nn.Linear(2048, 512), nn.ReLU(), nn.Linear(512, 1)).cuda()
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for it in range(2000):
        print(it, update(net, opt, dl, nn.BCEWithLogitsLoss(), args.chunks))
