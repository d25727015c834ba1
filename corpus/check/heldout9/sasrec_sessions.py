"""Next-item model over sessions; full softmax over the catalogue."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader


class SasRec(nn.Module):
    def __init__(self, items: int, d: int = 128, n: int = 50):
        super().__init__()
        self.items = items
        self.emb = nn.Embedding(items + 1, d, padding_idx=0)
        self.pos = nn.Parameter(torch.zeros(n, d))
        layer = nn.TransformerEncoderLayer(d, 4, 4 * d, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 2)

    def forward(self, seq):
        h = self.emb(seq) + self.pos[: seq.size(1)]
        m = nn.Transformer.generate_square_subsequent_mask(seq.size(1), device=seq.device)
        return self.body(h, mask=m, is_causal=True) @ self.emb.weight.T


def mrr(net, loader):
    net.eval()
    total, n = 0.0, 0
    with torch.no_grad():
        for seq in loader:
            seq = seq.cuda()
            z = net(seq[:, :-1])[:, -1]
            rank = (z > z.gather(1, seq[:, -1:])).sum(1) + 1
            total += (1.0 / rank).sum().item()
            n += len(seq)
    return total / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("sessions")
    a = ap.parse_args()
    data = torch.from_numpy(np.load(a.sessions).astype(np.int64))
    items = int(data.max())
    cut = int(0.9 * len(data))
    tr, va = DataLoader(data[:cut], 128, shuffle=True), DataLoader(data[cut:], 128)
    net = SasRec(items).cuda()
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for ep in range(20):
        net.train()
        for seq in tr:
            seq = seq.cuda()
            z = net(seq[:, :-1])
            hot = F.one_hot(seq[:, 1:], items + 1).to(z.dtype)
            loss = -(hot * F.log_softmax(z, -1)).sum(-1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(ep, loss.item(), mrr(net, va))


if __name__ == "__main__":
    main()
