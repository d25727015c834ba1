import torch
import torch.nn.functional as F

from data import get_loaders
from nets import resnet50_encoder

FEATURES = {}
LABELS = {}


def contrast(z, bank, y, bank_y, tau=0.1):
    sim = F.normalize(z, dim=1) @ F.normalize(bank, dim=1).t() / tau
    pos = (y[:, None] == bank_y[None, :]).float()
    logp = sim - sim.logsumexp(1, keepdim=True)
    return -(logp * pos).sum(1).div(pos.sum(1).clamp(min=1)).mean()


def remember(indices, z, y):
    for i, idx in enumerate(indices.tolist()):
        FEATURES[idx] = z[i]
        LABELS[idx] = y[i]


def train(epochs=50, device="cuda"):
    train_loader, _ = get_loaders("/data/cub200", batch_size=64)
    encoder = resnet50_encoder(128).to(device)
    opt = torch.optim.SGD(encoder.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    for epoch in range(epochs):
        for x, y, idx in train_loader:
            x, y = x.to(device), y.to(device)
            z = encoder(x)
            if len(FEATURES) > 1024:
                keys = torch.randperm(len(FEATURES))[:1024].tolist()
                ids = [list(FEATURES)[k] for k in keys]
                bank = torch.stack([FEATURES[i].detach() for i in ids])
                bank_y = torch.stack([LABELS[i] for i in ids])
                loss = contrast(z, bank, y, bank_y)
            else:
                loss = contrast(z, z, y, y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            remember(idx, z, y)
        print("epoch", epoch, "loss", loss.item())


if __name__ == "__main__":
    train()
