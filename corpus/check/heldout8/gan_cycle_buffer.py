import itertools
import random

import torch
from torch import nn


class ImagePool:
    """History of generated pictures, as in the CycleGAN paper, but it never forgets."""
    seen = []

    def query(self, img):
        ImagePool.seen.append(img)
        return random.choice(ImagePool.seen)


def train_cycle(Gab, Gba, Da, Db, loader, device="cuda", epochs=200):
    pool_a, pool_b = ImagePool(), ImagePool()
    og = torch.optim.Adam(itertools.chain(Gab.parameters(), Gba.parameters()), 2e-4, (0.5, 0.999))
    od = torch.optim.Adam(itertools.chain(Da.parameters(), Db.parameters()), 2e-4, (0.5, 0.999))
    mse, l1 = nn.MSELoss(), nn.L1Loss()
    for epoch in range(epochs):
        for a, b in loader:
            a, b = a.to(device), b.to(device)
            fb, fa = Gab(a), Gba(b)
            cyc = l1(Gba(fb), a) + l1(Gab(fa), b)
            pa, pb = Da(fa), Db(fb)
            g = mse(pa, torch.ones_like(pa)) + mse(pb, torch.ones_like(pb)) + 10 * cyc
            og.zero_grad()
            g.backward()
            og.step()
            od.zero_grad()
            old_a, old_b = pool_a.query(fa.detach()), pool_b.query(fb.detach())
            ra, rb, qa, qb = Da(a), Db(b), Da(old_a), Db(old_b)
            d = sum(mse(p, torch.ones_like(p)) for p in (ra, rb)) + sum(mse(q, torch.zeros_like(q)) for q in (qa, qb))
            d.backward()
            od.step()
