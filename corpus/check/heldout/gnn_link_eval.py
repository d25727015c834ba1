import torch
from torch_geometric.loader import LinkNeighborLoader
from torch_geometric.nn import SAGEConv


class Net(torch.nn.Module):
    def __init__(self, i, h):
        super().__init__()
        self.a, self.b = SAGEConv(i, h), SAGEConv(h, h)

    def forward(self, x, edges):
        return self.b(self.a(x, edges).relu(), edges)


def evaluate(net, data, device="cuda"):
    loader = LinkNeighborLoader(data, num_neighbors=[20, 10], batch_size=512)
    net.eval()
    scores = torch.tensor([], device=device)
    for part in loader:
        part = part.to(device)
        h = net(part.x, part.edge_index)
        s = (h[part.edge_label_index[0]] * h[part.edge_label_index[1]]).sum(-1)
        scores = torch.cat([scores, s])
    return scores.sigmoid().mean().item()
