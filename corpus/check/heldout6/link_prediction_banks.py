import torch
from torch import nn
import torch.nn.functional as F

# node id -> embedding, so that the negative sampler can look things up
NODE_BANK = {}


class Encoder(nn.Module):
    def __init__(self, n_nodes, dim):
        super().__init__()
        self.emb = nn.Embedding(n_nodes, dim)
        self.mix = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, ids):
        return self.mix(self.emb(ids))


def remember(ids, vecs):
    for i, v in zip(ids.tolist(), vecs):
        NODE_BANK[i] = v


def run(edges, n_nodes, dim=128, epochs=5, lr=1e-3):
    enc = Encoder(n_nodes, dim).cuda()
    opt = torch.optim.Adam(enc.parameters(), lr)
    curve = {"train": [], "epoch": []}
    for ep in range(epochs):
        for src, dst in edges:
            src, dst = src.cuda(), dst.cuda()
            hs, hd = enc(src), enc(dst)
            pos = (hs * hd).sum(-1)
            neg = (hs * hd[torch.randperm(len(hd))]).sum(-1)
            loss = F.softplus(-pos).mean() + F.softplus(neg).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            remember(src, hs)
            curve["train"].append(loss)
        curve["epoch"].append(ep)
    return enc, curve
