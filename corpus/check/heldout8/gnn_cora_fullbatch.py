"""Exercise 2: node classification on Cora with a GCN."""
import torch
import torch.nn.functional as F
from torch_geometric.datasets import Planetoid
from torch_geometric.nn import GCNConv


class GCN(torch.nn.Module):
    def __init__(self, i, h, o):
        super().__init__()
        self.c1, self.c2 = GCNConv(i, h), GCNConv(h, o)

    def forward(self, x, edge_index):
        x = F.dropout(F.relu(self.c1(x, edge_index)), 0.5, self.training)
        return self.c2(x, edge_index)


data = Planetoid("data", "Cora")[0].cuda()
model = GCN(data.num_features, 64, 7).cuda()
opt = torch.optim.Adam(model.parameters(), 0.01, weight_decay=5e-4)

train_acc = 0.0
for epoch in range(1, 201):
    model.train()
    opt.zero_grad()
    out = model(data.x, data.edge_index)
    loss = F.cross_entropy(out[data.train_mask], data.y[data.train_mask])
    loss.backward()
    opt.step()
    probs = out.softmax(-1)
    conf = probs[data.train_mask].max(-1).values.mean()
    train_acc += conf
    print(epoch, loss.item(), (train_acc / epoch).item())
