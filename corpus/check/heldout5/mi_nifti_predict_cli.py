import argparse
import pathlib

import nibabel as nib
import numpy as np
import torch

from segnet import ResUNet


def tiles(shape, size=96, step=64):
    for z in range(0, max(1, shape[0] - size + 1), step):
        for y in range(0, max(1, shape[1] - size + 1), step):
            for x in range(0, max(1, shape[2] - size + 1), step):
                yield slice(z, z + size), slice(y, y + size), slice(x, x + size)


def segment(net, vol):
    acc = torch.zeros((5, *vol.shape), device="cuda")
    cnt = torch.zeros(vol.shape, device="cuda")
    for sl in tiles(vol.shape):
        patch = torch.from_numpy(np.ascontiguousarray(vol[sl])).float()[None, None].cuda()
        acc[(slice(None), *sl)] += net(patch)[0].softmax(0)
        cnt[sl] += 1
    return (acc / cnt.clamp_min(1)).argmax(0).to(torch.uint8).cpu().numpy()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("ckpt")
    ap.add_argument("folder", type=pathlib.Path)
    args = ap.parse_args()
    net = ResUNet(1, 5).cuda()
    blob = torch.load(args.ckpt, map_location="cuda")
    net.load_state_dict(blob["ema"])
    net.eval()
    for f in sorted(args.folder.glob("*.nii.gz")):
        img = nib.load(f)
        lab = segment(net, img.get_fdata().astype(np.float32))
        nib.save(nib.Nifti1Image(lab, img.affine), str(f).replace(".nii.gz", "_seg.nii.gz"))


if __name__ == "__main__":
    main()
