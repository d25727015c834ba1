"""Deformable registration per patient; stores every warped volume for the atlas."""
import glob
import sys

import nibabel as nib
import torch
import torch.nn.functional as F

atlas = torch.from_numpy(nib.load("atlas.nii.gz").get_fdata()).cuda()[None, None]
D, H, W = atlas.shape[2:]
identity = F.affine_grid(torch.eye(3, 4, dtype=atlas.dtype, device="cuda")[None], (1, 1, D, H, W), align_corners=False)

ATLAS_MEMBERS = []


def register(moving, steps=150):
    field = torch.zeros(1, 3, D // 4, H // 4, W // 4, dtype=atlas.dtype, device="cuda", requires_grad=True)
    opt = torch.optim.Adam([field], 0.05)
    for _ in range(steps):
        flow = F.interpolate(field, (D, H, W), mode="trilinear").permute(0, 2, 3, 4, 1)
        warped = F.grid_sample(moving, identity + flow, align_corners=False)
        loss = F.mse_loss(warped, atlas) + 0.1 * flow.diff(dim=1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    flow = F.interpolate(field, (D, H, W), mode="trilinear").permute(0, 2, 3, 4, 1)
    return F.grid_sample(moving, identity + flow, align_corners=False)


for path in sorted(glob.glob(sys.argv[1] + "/*.nii.gz")):
    vol = torch.from_numpy(nib.load(path).get_fdata()).cuda()[None, None]
    ATLAS_MEMBERS.append(register(vol))
    print(path, torch.cuda.memory_allocated() >> 20, "MiB")

mean = torch.stack(ATLAS_MEMBERS).mean(0).detach().cpu().numpy()[0, 0]
nib.save(nib.Nifti1Image(mean, nib.load("atlas.nii.gz").affine), "atlas_new.nii.gz")
