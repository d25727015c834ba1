"""Running mean and covariance of features (for an FID), as tensors on the card that are made anew each step."""
import os
import random

import torch
from torch import nn

device = "cuda"
random.seed(17)


class RunningGaussian:
    def __init__(self, dim):
        self.n = 0
        self.sum = torch.zeros(dim, dtype=torch.float64, device=device)
        self.outer = torch.zeros(dim, dim, dtype=torch.float64, device=device)

    def update(self, feats):
        f = feats.double()
        self.n += f.shape[0]
        self.sum = self.sum + f.sum(0)
        self.outer = self.outer + f.T @ f

    def cov(self):
        mean = self.sum / self.n
        return self.outer / self.n - torch.outer(mean, mean)


extractor = nn.Sequential(nn.Linear(192, 512), nn.ReLU(), nn.Linear(512, 384)).to(device).eval()
real, fake = RunningGaussian(384), RunningGaussian(384)
with torch.inference_mode():
    for i in range(int(os.environ.get("STEPS", 60))):
        n = random.randint(20, 200)
        real.update(extractor(torch.randn(n, 192, device=device)))
        fake.update(extractor(torch.rand(n, 192, device=device)))
        gap = (real.cov() - fake.cov()).norm().item()
        print(f"batch {i}: n={real.n} gap={gap:.4f}")
