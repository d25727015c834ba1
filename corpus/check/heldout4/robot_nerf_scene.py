import argparse

import torch
import torch.nn.functional as F

from scene.rays import RayBank
from scene.render import volume_render
from scene.field import HashField

torch.autograd.set_detect_anomaly(True)


def photometric(field, bank, n_chunks, chunk):
    """Rays do not fit at once, so go in chunks and sum."""
    total = 0.0
    for _ in range(n_chunks):
        rays, rgb = bank.sample(chunk)
        out = volume_render(field, rays)
        total = total + F.mse_loss(out, rgb) / n_chunks
    return total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("scene")
    ap.add_argument("--iters", type=int, default=30000)
    ap.add_argument("--chunks", type=int, default=16)
    ap.add_argument("--chunk", type=int, default=4096)
    a = ap.parse_args()

    bank = RayBank(a.scene)
    field = HashField().cuda()
    opt = torch.optim.Adam(field.parameters(), 1e-2, eps=1e-15)
    for it in range(a.iters):
        loss = photometric(field, bank, a.chunks, a.chunk)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        if it % 250 == 0:
            print(f"{it} psnr {-10 * torch.log10(loss).item():.2f}")
    torch.save(field.state_dict(), f"{a.scene}.pt")


if __name__ == "__main__":
    main()
