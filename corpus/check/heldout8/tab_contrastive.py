import torch
import torch.nn.functional as F
from torch import nn


class ScarfEncoder(nn.Module):
    def __init__(self, d_in, d=256):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d_in, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))
        self.proj = nn.Linear(d, 128)

    def forward(self, x):
        return self.proj(self.body(x))


def corrupt(x, p=0.6):
    mask = torch.rand_like(x) < p
    perm = x[torch.randperm(len(x), device=x.device)]
    return torch.where(mask, perm, x)


def supcon_targets(labels, n_classes):
    """Soft assignment of every row to every class."""
    return torch.eye(n_classes, device=labels.device)[labels]


def pretrain(X, labels, epochs=200, bs=8192, n_classes=30000):
    enc = ScarfEncoder(X.shape[1]).cuda()
    proto = nn.Linear(128, n_classes, bias=False).cuda()
    opt = torch.optim.Adam([*enc.parameters(), *proto.parameters()], 1e-3)
    scaler = torch.cuda.amp.GradScaler()
    for ep in range(epochs):
        perm = torch.randperm(len(X))
        for s in range(0, len(X), bs):
            rows = perm[s:s + bs]
            xb, yb = X[rows].cuda(), labels[rows].cuda()
            opt.zero_grad()
            with torch.cuda.amp.autocast():
                z = F.normalize(enc(corrupt(xb)), dim=1)
                q = supcon_targets(yb, n_classes)
                loss = -(q * F.log_softmax(proto(z) / 0.1, dim=1)).sum(1).mean()
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
        print(ep, loss.item())
    return enc
