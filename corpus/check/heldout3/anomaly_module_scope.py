"""NeRF training script."""
import argparse
import os

import numpy as np
import torch
import torch.nn.functional as F

from nerf_helpers import NeRF, get_rays, load_blender, render_rays

torch.autograd.set_detect_anomaly(True)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def config():
    p = argparse.ArgumentParser()
    p.add_argument("--scene", default="lego")
    p.add_argument("--rays", type=int, default=4096)
    p.add_argument("--iters", type=int, default=200_000)
    p.add_argument("--lr", type=float, default=5e-4)
    return p.parse_args()


def main():
    args = config()
    images, poses, hwf, split = load_blender(os.path.join("data", args.scene))
    coarse, fine = NeRF().to(device), NeRF().to(device)
    params = list(coarse.parameters()) + list(fine.parameters())
    opt = torch.optim.Adam(params, lr=args.lr)
    psnrs = []
    for it in range(args.iters):
        i = np.random.choice(split["train"])
        target = torch.as_tensor(images[i], dtype=torch.float32, device=device).reshape(-1, 3)
        rays = get_rays(hwf, poses[i], device)
        pick = torch.randint(0, target.size(0), (args.rays,), device=device)
        rgb_c, rgb_f = render_rays(coarse, fine, rays[pick])
        mse = F.mse_loss(rgb_f, target[pick])
        loss = mse + F.mse_loss(rgb_c, target[pick])
        opt.zero_grad()
        loss.backward()
        opt.step()
        psnrs.append(-10 * torch.log10(mse))
        if it % 500 == 0:
            print(it, psnrs[-1].item())
    torch.save({"c": coarse.state_dict(), "f": fine.state_dict()}, "nerf.pt")


if __name__ == "__main__":
    main()
