from itertools import cycle

import torch
from torch import nn
from torch.utils.data import DataLoader


def infinite(ds, bs):
    return cycle(DataLoader(ds, batch_size=bs, shuffle=True, num_workers=4))


def run(G, D, Q, ds, steps=100_000, bs=256):
    data = infinite(ds, bs)
    og = torch.optim.Adam([*G.parameters(), *Q.parameters()], 1e-3)
    od = torch.optim.Adam(D.parameters(), 2e-4)
    bce, ce = nn.BCEWithLogitsLoss(), nn.CrossEntropyLoss()
    for step in range(steps):
        x, _ = next(data)
        x = x.cuda()
        code = torch.randint(0, 10, (bs,), device="cuda")
        fake = G(torch.randn(bs, 62, device="cuda"), code)
        r, f = D(x), D(fake.detach())
        od.zero_grad()
        (bce(r, torch.ones_like(r)) + bce(f, torch.zeros_like(f))).backward()
        od.step()
        og.zero_grad()
        f = D(fake)
        loss = bce(f, torch.ones_like(f)) + ce(Q(fake), code)
        loss.backward()
        og.step()
