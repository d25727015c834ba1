import torch
import torch.nn.functional as F
from torch_geometric.datasets import Reddit
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn import SAGEConv


class Sage(torch.nn.Module):
    def __init__(self, inp, hid, out):
        super().__init__()
        self.a, self.b = SAGEConv(inp, hid), SAGEConv(hid, out)

    def forward(self, x, edge_index):
        return self.b(F.relu(self.a(x, edge_index)), edge_index)


data = Reddit("data")[0]
model = Sage(data.num_features, 256, 41).cuda()
test_loader = NeighborLoader(data, [-1, -1], batch_size=1024, input_nodes=data.test_mask)


def test():
    hits, seen = 0, 0
    model.eval()
    for sub in test_loader:
        sub = sub.to("cuda")
        guess = model(sub.x, sub.edge_index)[:sub.batch_size].argmax(-1)
        hits += int((guess == sub.y[:sub.batch_size]).sum())
        seen += sub.batch_size
    return hits / seen


print(test())
