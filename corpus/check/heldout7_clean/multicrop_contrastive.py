import torch
import torch.nn as nn
import torch.nn.functional as F


class Projector(nn.Module):
    def __init__(self, backbone, d_in=2048, d=128):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Sequential(nn.Linear(d_in, d_in), nn.ReLU(), nn.Linear(d_in, d))

    def forward(self, x):
        return F.normalize(self.head(self.backbone(x)), dim=-1)


def info_nce(z, tau=0.1):
    # z: (crops, B, d); every crop is compared with the first one
    ref = z[0]
    labels = torch.arange(ref.shape[0], device=ref.device)
    return torch.stack([F.cross_entropy(ref @ other.T / tau, labels) for other in z[1:]]).mean()


def train_epoch(model, opt, loader):
    model.train()
    for crops in loader:
        embeddings = []
        for crop in crops:
            embeddings.append(model(crop.cuda(non_blocking=True)))
        loss = info_nce(torch.stack(embeddings))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()
