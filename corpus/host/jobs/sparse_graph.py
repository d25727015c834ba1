"""A network on a graph: a sparse matrix times features, the whole graph in every step."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()

NODES, EDGES = 20_000, 200_000
ends = torch.randint(0, NODES, (2, EDGES))
graph = torch.sparse_coo_tensor(ends, torch.full((EDGES,), 0.1), (NODES, NODES)).coalesce().to(args.device)
features = torch.randn(NODES, 128).to(args.device)
labels = torch.randint(0, 10, (NODES,)).to(args.device)


class Graph(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(128, 64), nn.Linear(64, 10)

    def forward(self, features):
        hidden = torch.relu(torch.sparse.mm(graph, self.first(features)))
        return torch.sparse.mm(graph, self.second(nn.functional.dropout(hidden, 0.5, self.training)))


model = Graph().to(args.device)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for step in range(30):
    loss = nn.functional.cross_entropy(model(features), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    print((model(features).argmax(1) == labels).float().mean().item())
