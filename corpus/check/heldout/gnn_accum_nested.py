import torch
from torch_geometric.loader import DataLoader as GraphLoader
from torch_geometric.datasets import QM9
from torch_geometric.nn import SchNet

accum_steps = 4
device = torch.device("cuda")
loader = GraphLoader(QM9("qm9"), batch_size=16, shuffle=True)
model = SchNet().to(device)
opt = torch.optim.Adam(model.parameters(), lr=5e-4)


def one_pass(batches):
    for g in batches:
        g = g.to(device)
        pred = model(g.z, g.pos, g.batch).view(-1)
        yield (pred - g.y[:, 7]).abs().mean()


for epoch in range(100):
    opt.zero_grad()
    for a in range(accum_steps):
        for loss in one_pass(loader):
            (loss / accum_steps).backward()
    opt.step()
