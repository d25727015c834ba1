"""3D U-Net on abdominal CT, patch based. Department workstation, one A6000."""
import argparse
import logging
from pathlib import Path

import numpy as np
import torch
from monai.losses import DiceCELoss
from monai.networks.nets import UNet
from torch.utils.data import DataLoader, Dataset

LOG = logging.getLogger("ct")


class Patches(Dataset):
    def __init__(self, root: Path):
        self.files = sorted(root.glob("*.npz"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        z = np.load(self.files[i])
        return torch.from_numpy(z["img"]).float()[None], torch.from_numpy(z["seg"]).long()[None]


def run_epoch(net, loader, lossf, opt=None, accum=4):
    """Trains when an optimiser is given, else only measures."""
    net.train(opt is not None)
    total = 0.0
    for i, (img, seg) in enumerate(loader):
        out = net(img.cuda())
        loss = lossf(out, seg.cuda())
        if opt is not None:
            (loss / accum).backward()
            if (i + 1) % accum == 0:
                opt.step()
                opt.zero_grad()
        total += loss.item()
    return total / len(loader)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("root", type=Path)
    a = ap.parse_args()
    net = UNet(3, 1, 14, (32, 64, 128, 256, 320), (2, 2, 2, 2), num_res_units=2).cuda()
    opt = torch.optim.AdamW(net.parameters(), 1e-3)
    lossf = DiceCELoss(to_onehot_y=True, softmax=True)
    tr = DataLoader(Patches(a.root / "train"), 2, shuffle=True, num_workers=4)
    va = DataLoader(Patches(a.root / "val"), 2, num_workers=4)
    keep, low = None, float("inf")
    for ep in range(300):
        run_epoch(net, tr, lossf, opt)
        v = run_epoch(net, va, lossf)
        LOG.info("%d %.4f", ep, v)
        if v < low:
            low, keep = v, {k: t.cpu() for k, t in net.state_dict().items()}
    torch.save(keep, "best.pt")


if __name__ == "__main__":
    main()
