import torch
from torch import nn
g = nn.Sequential(nn.ConvTranspose2d(64, 256, 4, 1, 0), nn.ReLU(), nn.ConvTranspose2d(256, 128, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(128, 3, 4, 2, 1)).cuda()
d = nn.Sequential(nn.Conv2d(3, 128, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(128, 256, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(256, 1, 4, 1, 0)).cuda()
og, od = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
fixed = torch.randn(2000, 64, 1, 1, device="cuda")
for epoch in range(3):
    for i in range(25):
        real, z = torch.randn(128, 3, 16, 16, device="cuda"), torch.randn(128, 64, 1, 1, device="cuda")
        od.zero_grad(); fake = g(z); (d(fake.detach()).mean() - d(real).mean()).backward(); od.step()
        og.zero_grad(); (-d(fake).mean()).backward(); og.step()
    with torch.no_grad():
        g(fixed).cpu()
