import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

Z = 64
G = nn.Sequential(nn.Linear(Z, 512), nn.ReLU(), nn.Linear(512, 784), nn.Tanh()).cuda()
D = nn.Sequential(nn.Linear(784, 512), nn.LeakyReLU(0.2), nn.Linear(512, 1)).cuda()
og, od = torch.optim.Adam(G.parameters(), 2e-4), torch.optim.Adam(D.parameters(), 2e-4)
bce = nn.BCEWithLogitsLoss()
dl = DataLoader(datasets.MNIST(".", download=True, transform=transforms.ToTensor()), 128, shuffle=True, drop_last=True)

for ep in range(20):
    for real, _ in dl:
        real = real.flatten(1).cuda()
        fake = G(torch.randn(128, Z, device="cuda"))
        r, f = D(real), D(fake.detach())
        d_loss = bce(r, torch.ones_like(r)) + bce(f, torch.zeros_like(f))
        od.zero_grad()
        d_loss.backward()
        od.step()
        v = D(fake)
        g_loss = bce(v, torch.ones_like(v))
        og.zero_grad()
        g_loss.backward()
        og.step()
    print(ep, d_loss.item(), g_loss.item())
