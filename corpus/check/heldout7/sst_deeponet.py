import numpy as np
import torch
import torch.nn as nn


class DeepONet(nn.Module):
    def __init__(self, n_sensors, p=256):
        super().__init__()
        self.branch = nn.Sequential(nn.Linear(n_sensors, 512), nn.GELU(), nn.Linear(512, p))
        self.trunk = nn.Sequential(nn.Linear(3, 512), nn.GELU(), nn.Linear(512, p))

    def forward(self, u, xyz):
        return self.branch(u) @ self.trunk(xyz).T


def sphere_grid(nlat, nlon):
    lat = np.linspace(-np.pi / 2, np.pi / 2, nlat)
    lon = np.linspace(0, 2 * np.pi, nlon, endpoint=False)
    la, lo = np.meshgrid(lat, lon, indexing="ij")
    return np.stack([np.cos(la) * np.cos(lo), np.cos(la) * np.sin(lo), np.sin(la)], -1).reshape(-1, 3)


device = "cuda"
grid = torch.from_numpy(sphere_grid(721, 1440)).to(device)
net = DeepONet(4096).to(device)
opt = torch.optim.Adam(net.parameters(), 1e-3)
sensors = np.load("sst_sensors.npy", mmap_mode="r").astype(np.float32)
fields = np.load("sst_fields.npy", mmap_mode="r")

for it in range(20_000):
    i = np.random.choice(len(sensors), 8)
    j = torch.randint(len(grid), (65536,), device=device)
    u = torch.from_numpy(sensors[i]).to(device)
    y = torch.from_numpy(np.asarray(fields[i], dtype=np.float32)).to(device)[:, j]
    loss = (net(u, grid[j].float()) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
