import torch
import torch.nn.functional as F
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn import SAGEConv


class SAGE(torch.nn.Module):
    def __init__(self, inp, hid, out):
        super().__init__()
        self.c1 = SAGEConv(inp, hid)
        self.c2 = SAGEConv(hid, out)

    def forward(self, x, edge_index):
        return self.c2(self.c1(x, edge_index).relu(), edge_index)


def batch_loss(net, batch):
    out = net(batch.x, batch.edge_index)[: batch.batch_size]
    return F.cross_entropy(out, batch.y[: batch.batch_size])


def dev_loss(net, loader, device):
    acc = torch.zeros((), device=device)
    n = 0
    for batch in loader:
        batch = batch.to(device)
        l = batch_loss(net, batch)
        acc = acc + l * batch.batch_size
        n += batch.batch_size
    return (acc / n).item()
