import torch
import torch.nn.functional as F
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn import SAGEConv


class Sage(torch.nn.Module):
    def __init__(self, inp, hid, out, layers=3):
        super().__init__()
        dims = [inp] + [hid] * (layers - 1) + [out]
        self.convs = torch.nn.ModuleList(SAGEConv(a, b) for a, b in zip(dims[:-1], dims[1:]))

    def forward(self, x, edge_index):
        for conv in self.convs[:-1]:
            x = F.dropout(conv(x, edge_index).relu(), 0.5, self.training)
        return self.convs[-1](x, edge_index)


def train_one(model, loader, opt, device):
    model.train()
    epoch_loss = torch.zeros((), device=device)
    correct, total = 0, 0
    for batch in loader:
        batch = batch.to(device)
        out = model(batch.x, batch.edge_index)[: batch.batch_size]
        y = batch.y[: batch.batch_size]
        loss = F.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        epoch_loss += loss * batch.batch_size
        correct += int((out.argmax(-1) == y).sum())
        total += batch.batch_size
    return epoch_loss / total, correct / total


def test(model, loader, device):
    model.eval()
    hits = n = 0
    for batch in loader:
        batch = batch.to(device)
        out = model(batch.x, batch.edge_index)[: batch.batch_size]
        hits += int((out.argmax(-1) == batch.y[: batch.batch_size]).sum())
        n += batch.batch_size
    return hits / n


def main(data, device="cuda"):
    kw = dict(num_neighbors=[15, 10, 5], batch_size=1024, num_workers=4)
    tr = NeighborLoader(data, input_nodes=data.train_mask, shuffle=True, **kw)
    te = NeighborLoader(data, input_nodes=data.test_mask, **kw)
    model = Sage(data.num_features, 256, int(data.y.max()) + 1).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for ep in range(30):
        loss, acc = train_one(model, tr, opt, device)
        print(ep, float(loss), acc, test(model, te, device))
