import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

from pfam import FamilyAlignment


class VAE(nn.Module):
    def __init__(self, L, q=21, z=64):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(L * q, 1024), nn.ELU(), nn.Linear(1024, 2 * z))
        self.dec = nn.Sequential(nn.Linear(z, 1024), nn.ELU(), nn.Linear(1024, L * q))
        self.L, self.q = L, q

    def forward(self, x):
        mu, lv = self.enc(x.flatten(1)).chunk(2, -1)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        return self.dec(z).view(-1, self.q, self.L), mu, lv


ali = FamilyAlignment("PF00069")
dl = DataLoader(ali, 1024, shuffle=True)
vae = VAE(ali.length).cuda()

for epoch in range(200):
    lr = 1e-3 * 0.98 ** epoch
    opt = torch.optim.Adam(vae.parameters(), lr=lr)
    rec_sum, kl_sum = 0, 0
    for onehot, idx in dl:
        onehot, idx = onehot.cuda(), idx.cuda()
        logits, mu, lv = vae(onehot)
        rec = F.cross_entropy(logits, idx, reduction="sum") / len(idx)
        kl = (-0.5 * (1 + lv - mu.pow(2) - lv.exp())).sum(1).mean()
        opt.zero_grad()
        (rec + kl).backward()
        opt.step()
        kl_sum = kl_sum + kl
        rec_sum = rec_sum + rec.item()
    print(epoch, rec_sum / len(dl), float(kl_sum) / len(dl))
