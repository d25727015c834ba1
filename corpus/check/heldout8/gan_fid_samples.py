import torch
from torchvision.models import inception_v3
from scipy import linalg
import numpy as np


class FidScorer:
    """Features of generated and real images; inception never trains."""

    def __init__(self, device):
        self.net = inception_v3(weights="DEFAULT").to(device)
        self.net.fc = torch.nn.Identity()
        self.net.eval()
        self.device = device

    def features(self, images):
        feats = []
        for chunk in images.split(64):
            chunk = torch.nn.functional.interpolate(chunk.to(self.device), size=299)
            feats.append(self.net(chunk))
        return torch.cat(feats).detach().cpu().numpy()

    def fid(self, a, b):
        fa, fb = self.features(a), self.features(b)
        mu, ca, cb = fa.mean(0) - fb.mean(0), np.cov(fa.T), np.cov(fb.T)
        root = linalg.sqrtm(ca @ cb).real
        return float(mu @ mu + np.trace(ca + cb - 2 * root))


def sample_grid(G, n, z_dim, device):
    torch.no_grad()
    G.eval()
    imgs = []
    while len(imgs) * 100 < n:
        imgs.append(G(torch.randn(100, z_dim, device=device)))
    return torch.cat(imgs)[:n]
