"""Point cloud auto-encoder with a Chamfer loss (16k points a shape)."""
import torch
from torch import nn


def chamfer(a, b):
    """a: B,N,3  b: B,M,3"""
    delta = a.unsqueeze(2) - b.unsqueeze(1)
    d = delta.pow(2).sum(dim=-1)
    return d.min(2).values.mean() + d.min(1).values.mean()


class PointAE(nn.Module):
    def __init__(self, latent=512, points=16384):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv1d(3, 128, 1), nn.ReLU(), nn.Conv1d(128, latent, 1))
        self.dec = nn.Sequential(nn.Linear(latent, 1024), nn.ReLU(), nn.Linear(1024, points * 3))
        self.points = points

    def forward(self, pts):
        code = self.enc(pts.transpose(1, 2)).amax(-1)
        return self.dec(code).view(-1, self.points, 3)


def nearest_neighbours(feats, k=20):
    sim = -(feats[:, :, None] - feats[:, None]).square().sum(-1)
    return sim.topk(k + 1, dim=-1).indices[..., 1:]


def train(loader, epochs=200):
    net = PointAE().cuda()
    opt = torch.optim.Adam(net.parameters(), lr=5e-4)
    for epoch in range(epochs):
        for pts in loader:
            pts = pts.cuda()
            out = net(pts)
            idx = nearest_neighbours(out.detach())
            near = torch.gather(out, 1, idx.flatten(1)[..., None].expand(-1, -1, 3)).view(*idx.shape, 3)
            loss = chamfer(out, pts) + 0.01 * (out.unsqueeze(2) - near).norm(dim=-1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, float(loss))
