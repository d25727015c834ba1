"""Student project: GCN on ogbn-arxiv with neighbour sampling."""
import torch
import torch.nn.functional as F
from torch_geometric.nn import SAGEConv


class Sage(torch.nn.Module):
    def __init__(self, i, h, o):
        super().__init__()
        self.c1, self.c2, self.c3 = SAGEConv(i, h), SAGEConv(h, h), SAGEConv(h, o)

    def forward(self, x, e):
        x = F.dropout(self.c1(x, e).relu(), 0.5, self.training)
        x = F.dropout(self.c2(x, e).relu(), 0.5, self.training)
        return self.c3(x, e)


class Experiment:
    def __init__(self, net, loaders):
        self.net = net.cuda()
        self.loaders = loaders
        self.opt = torch.optim.Adam(net.parameters(), 3e-3)
        self.val_loss = 0.0
        self.val_hits = 0

    def train(self):
        self.net.train()
        for b in self.loaders["train"]:
            b = b.to("cuda")
            self.opt.zero_grad()
            out = self.net(b.x, b.edge_index)[: b.batch_size]
            F.cross_entropy(out, b.y[: b.batch_size].view(-1)).backward()
            self.opt.step()

    def validate(self):
        self.net.eval()
        self.val_loss, self.val_hits, n = 0.0, 0, 0
        for b in self.loaders["valid"]:
            b = b.to("cuda")
            out = self.net(b.x, b.edge_index)[: b.batch_size]
            y = b.y[: b.batch_size].view(-1)
            self.val_loss += F.cross_entropy(out, y, reduction="sum")
            self.val_hits += (out.argmax(-1) == y).sum().item()
            n += b.batch_size
        return self.val_hits / n

    def test(self):
        torch.inference_mode()
        self.net.eval()
        hits = n = 0
        for b in self.loaders["test"]:
            b = b.to("cuda")
            hits += (self.net(b.x, b.edge_index)[: b.batch_size].argmax(-1) == b.y[: b.batch_size].view(-1)).sum().item()
            n += b.batch_size
        return hits / n

    def run(self, epochs=30):
        for ep in range(epochs):
            self.train()
            print(ep, self.validate())
        print("test", self.test())
