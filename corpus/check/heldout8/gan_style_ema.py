import argparse

import torch
import torch.nn.functional as F

from stylegan import Generator, Discriminator
from loader import ffhq


def accumulate(ema, model, decay=0.999):
    with torch.no_grad():
        for pe, p in zip(ema.parameters(), model.parameters()):
            pe.mul_(decay).add_(p, alpha=1 - decay)


def r1(real_pred, real):
    g, = torch.autograd.grad(real_pred.sum(), real, create_graph=True)
    return g.pow(2).flatten(1).sum(1).mean()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--ckpt")
    p.add_argument("--iters", type=int, default=800_000)
    a = p.parse_args()
    G, E, D = Generator(256).cuda(), Generator(256).cuda(), Discriminator(256).cuda()
    og, od = torch.optim.Adam(G.parameters(), 2e-3, (0, 0.99)), torch.optim.Adam(D.parameters(), 2e-3, (0, 0.99))
    if a.ckpt:
        ck = torch.load(a.ckpt, map_location="cuda")
        G.load_state_dict(ck["g"]); E.load_state_dict(ck["ema"]); D.load_state_dict(ck["d"])
        og.load_state_dict(ck["og"]); od.load_state_dict(ck["od"])
    it = iter(ffhq(batch=8))
    for i in range(a.iters):
        real = next(it).cuda()
        with torch.no_grad():
            fake = G(torch.randn(8, 512, device="cuda"))
        d = F.softplus(D(fake)).mean() + F.softplus(-D(real)).mean()
        od.zero_grad(); d.backward(); od.step()
        if i % 16 == 0:
            real.requires_grad_()
            reg = r1(D(real), real)
            od.zero_grad(); (80 * reg).backward(); od.step()
        g = F.softplus(-D(G(torch.randn(8, 512, device="cuda")))).mean()
        og.zero_grad(); g.backward(); og.step()
        accumulate(E, G)
        torch.cuda.empty_cache()
        if i % 1000 == 0:
            print(i, d.item(), g.item())


if __name__ == "__main__":
    main()
