import os

import numpy as np
import segmentation_models_pytorch as smp
import torch
from tqdm import tqdm

device = "cuda"
net = smp.Unet("resnet50", classes=1).to(device)
net.load_state_dict(torch.load("fold0.pt", map_location="cpu")["model"])
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:128"
net.eval()
tiles = np.load("tiles.npy", mmap_mode="r")   # N x 3 x 1024 x 1024, uint8

FLIPS = [(), (2,), (3,), (2, 3)]
masks = []
for lo in tqdm(range(0, len(tiles), 4)):
    x = torch.from_numpy(tiles[lo:lo + 4]).to(device).float().div_(255)
    views = []
    with torch.no_grad():
        for f in FLIPS:
            out = net(torch.flip(x, f) if f else x)
            views.append(torch.flip(out, f) if f else out)
        p = torch.stack(views).mean(0).sigmoid()
    masks.append(p)
full = torch.cat(masks).cpu().numpy() > 0.5
np.save("masks.npy", np.packbits(full))
