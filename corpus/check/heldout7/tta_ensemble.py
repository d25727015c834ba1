import glob

import cv2
import numpy as np
import timm
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from vesuvius import FragmentTiles, SegModel

FLIPS = [[], [2], [3], [2, 3]]


def load_models(pattern):
    models = []
    for path in sorted(glob.glob(pattern)):
        m = SegModel("resnext50_32x4d")
        m.load_state_dict(torch.load(path)["model"])
        m.to("cuda")
        m.eval()
        models.append(m)
    return models


def predict(models, x):
    out = 0
    for m in models:
        for dims in FLIPS:
            y = m(torch.flip(x, dims) if dims else x)
            y = torch.flip(y, dims) if dims else y
            out = out + torch.sigmoid(y)
    return out / (len(models) * len(FLIPS))


def main():
    models = load_models("../input/vesuvius-weights/*.pth")
    ds = FragmentTiles("../input/vesuvius/test/a", tile=1024, stride=512)
    canvas = np.zeros(ds.shape, np.float32)
    count = np.zeros(ds.shape, np.float32)
    for tiles, (ys, xs) in DataLoader(ds, batch_size=4):
        p = predict(models, tiles.cuda())
        p = p.detach().cpu().numpy()
        for q, y, x in zip(p, ys, xs):
            canvas[y:y + 1024, x:x + 1024] += q[0]
            count[y:y + 1024, x:x + 1024] += 1
    mask = (canvas / np.maximum(count, 1)) > 0.45
    cv2.imwrite("mask.png", mask.astype(np.uint8) * 255)


main()
