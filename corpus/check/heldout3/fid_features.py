import numpy as np
import torch
from scipy import linalg
from torch.utils.data import DataLoader
from torchvision.models import Inception_V3_Weights, inception_v3


def inception(device):
    net = inception_v3(weights=Inception_V3_Weights.DEFAULT)
    net.fc = torch.nn.Identity()
    return net.to(device).eval()


def activations(dataset, device="cuda", batch_size=64):
    net = inception(device)
    feats = np.empty((len(dataset), 2048), dtype=np.float64)
    at = 0
    for images in DataLoader(dataset, batch_size=batch_size, num_workers=4):
        out = net(images.to(device))
        feats[at:at + len(images)] = out.detach().cpu().numpy()
        at += len(images)
    return feats


def frechet(a, b, eps=1e-6):
    mu1, mu2 = a.mean(0), b.mean(0)
    s1, s2 = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    root, _ = linalg.sqrtm(s1 @ s2, disp=False)
    if not np.isfinite(root).all():
        off = np.eye(s1.shape[0]) * eps
        root = linalg.sqrtm((s1 + off) @ (s2 + off))
    diff = mu1 - mu2
    return float(diff @ diff + np.trace(s1 + s2 - 2 * root.real))


def fid(real, fake, **kw):
    return frechet(activations(real, **kw), activations(fake, **kw))
