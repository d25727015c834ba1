import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torchvision.datasets import FashionMNIST
from torchvision.transforms import ToTensor

torch.autograd.set_detect_anomaly(True)  # I had NaNs once


class VAE(nn.Module):
    def __init__(self, zdim=32):
        super().__init__()
        self.enc = nn.Sequential(nn.Flatten(), nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 2 * zdim))
        self.dec = nn.Sequential(nn.Linear(zdim, 1024), nn.ReLU(), nn.Linear(1024, 784))

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def elbo(rec, x, mu, logvar):
    bce = F.binary_cross_entropy_with_logits(rec, x.flatten(1), reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld, kld


vae = VAE().cuda()
opt = torch.optim.Adam(vae.parameters(), 1e-3)
train = DataLoader(FashionMNIST(".", download=True, transform=ToTensor()), 256, shuffle=True)
valid = DataLoader(FashionMNIST(".", train=False, transform=ToTensor()), 256)
kl_track = {"train": [], "val": []}

for e in range(40):
    vae.train()
    for x, _ in train:
        x = x.cuda()
        rec, mu, lv = vae(x)
        loss, kld = elbo(rec, x, mu, lv)
        opt.zero_grad()
        loss.backward()
        opt.step()
        kl_track["train"].append(kld.item() / len(x))
    vae.eval()
    with torch.no_grad():
        for x, _ in valid:
            x = x.cuda()
            rec, mu, lv = vae(x)
            kl_track["val"].append(elbo(rec, x, mu, lv)[1].item() / len(x))
    print(e, kl_track["val"][-1])
