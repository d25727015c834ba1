"""GraphSAGE on the products graph, neighbour sampling."""
import argparse

import torch
import torch.nn.functional as F
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn import SAGEConv


class Sage(torch.nn.Module):
    def __init__(self, d_in, d_hid, d_out, depth=3):
        super().__init__()
        dims = [d_in] + [d_hid] * (depth - 1) + [d_out]
        self.convs = torch.nn.ModuleList(SAGEConv(a, b) for a, b in zip(dims, dims[1:]))

    def forward(self, x, edge_index):
        for conv in self.convs[:-1]:
            x = F.dropout(conv(x, edge_index).relu(), 0.5, self.training)
        return self.convs[-1](x, edge_index)


def fit_epoch(net, loader, opt, dev):
    net.train()
    running = 0
    seen = 0
    for sub in loader:
        sub = sub.to(dev)
        opt.zero_grad()
        logits = net(sub.x, sub.edge_index)[: sub.batch_size]
        nll = F.cross_entropy(logits, sub.y[: sub.batch_size].squeeze())
        nll.backward()
        opt.step()
        running = running + nll * sub.batch_size
        seen += sub.batch_size
    return running / seen


def score(net, loader, dev):
    net.eval()
    hits = n = 0
    for sub in loader:
        sub = sub.to(dev)
        logits = net(sub.x, sub.edge_index)[: sub.batch_size]
        hits += int((logits.argmax(-1) == sub.y[: sub.batch_size].squeeze()).sum())
        n += sub.batch_size
    return hits / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--hidden", type=int, default=256)
    ap.add_argument("--epochs", type=int, default=20)
    a = ap.parse_args()
    data = torch.load("products.pt", map_location="cpu")
    dev = torch.device("cuda")
    net = Sage(data.num_features, a.hidden, 47).to(dev)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    tr = NeighborLoader(data, [15, 10, 5], input_nodes=data.train_mask, batch_size=1024, shuffle=True)
    te = NeighborLoader(data, [15, 10, 5], input_nodes=data.val_mask, batch_size=4096)
    for ep in range(a.epochs):
        print(ep, float(fit_epoch(net, tr, opt, dev)), score(net, te, dev))


if __name__ == "__main__":
    main()
