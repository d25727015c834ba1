import esm
import torch
import torch.nn as nn
import torch.nn.functional as F

from pdbset import chains

esm2, alphabet = esm.pretrained.esm2_t33_650M_UR50D()
esm2.cuda().eval()
conv = alphabet.get_batch_converter()


class DistanceHead(nn.Module):
    def __init__(self, d=1280, bins=64):
        super().__init__()
        self.proj = nn.Linear(d, 128)
        self.out = nn.Linear(128, bins)

    def forward(self, rep):
        z = self.proj(rep)
        return self.out(z[:, :, None, :] * z[:, None, :, :])


def true_bins(atoms, ca, lo=2.0, hi=22.0, bins=64):
    """atoms: (A, 3) all heavy atoms of the assembly (A up to 20k), ca: indices of the C-alphas."""
    diff = atoms[:, None, :] - atoms[None, :, :]
    d = diff.pow(2).sum(-1).sqrt()[ca][:, ca]
    return torch.bucketize(d, torch.linspace(lo, hi, bins - 1, device=d.device))


head = DistanceHead().cuda()
opt = torch.optim.Adam(head.parameters(), lr=1e-4)

for epoch in range(10):
    for name, seq, atoms, ca in chains("train", max_len=512):
        _, _, tokens = conv([(name, seq)])
        rep = esm2(tokens.cuda(), repr_layers=[33])["representations"][33][:, 1:-1]
        logits = head(rep)
        loss = F.cross_entropy(logits[0].flatten(0, 1), true_bins(atoms.cuda(), ca).flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
