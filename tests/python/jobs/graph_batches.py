"""torch_geometric's loader: how many graphs a batch has is read from the card."""

import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, global_mean_pool


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = GCNConv(16, 32), GATConv(32, 8, heads=4), torch.nn.Linear(32, 3)

    def forward(self, x, edges, batch):
        return self.head(global_mean_pool(self.second(self.first(x, edges).relu(), edges), batch))


graphs = [Data(x=torch.randn(20, 16), edge_index=torch.randint(0, 20, (2, 60)), y=torch.tensor([i % 3])) for i in range(32)]
net = Net().cuda()
optimizer = torch.optim.Adam(net.parameters())
for data in DataLoader(graphs, batch_size=8, shuffle=True):
    data = data.to("cuda")
    loss = torch.nn.functional.cross_entropy(net(data.x, data.edge_index, data.batch), data.y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
