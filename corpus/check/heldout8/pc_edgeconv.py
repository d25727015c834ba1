import torch
from torch import nn


def knn_graph(x, k):
    inner = -2 * x.transpose(2, 1) @ x
    sq = (x ** 2).sum(1, keepdim=True)
    dist = -sq - inner - sq.transpose(2, 1)
    return dist.topk(k, dim=-1).indices


class EdgeConv(nn.Module):
    def __init__(self, cin, cout, k=20):
        super().__init__()
        self.k = k
        self.mlp = nn.Sequential(nn.Conv2d(cin, cout, 1), nn.BatchNorm2d(cout), nn.LeakyReLU(0.2))

    def forward(self, x):
        b, c, n = x.shape
        idx = knn_graph(x, self.k)
        flat = (idx + torch.arange(b, device=x.device).view(-1, 1, 1) * n).view(-1)
        pts = x.transpose(2, 1).contiguous()
        neigh = pts.view(b * n, c)[flat].view(b, n, self.k, c)
        centre = pts.unsqueeze(2).repeat(1, 1, self.k, 1)
        rel = neigh - centre
        y = self.mlp(rel.permute(0, 3, 1, 2)).max(dim=-1).values
        self.last_edges = rel
        return y


class DGCNN(nn.Module):
    def __init__(self, classes=40):
        super().__init__()
        self.c1, self.c2, self.c3 = EdgeConv(3, 64), EdgeConv(64, 128), EdgeConv(128, 256)
        self.head = nn.Linear(256, classes)

    def forward(self, x):
        x = self.c3(self.c2(self.c1(x)))
        return self.head(x.max(-1).values)
