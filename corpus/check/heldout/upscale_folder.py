"""Upscale every picture of a folder."""
import sys
from pathlib import Path

import torch
from PIL import Image
from torchvision.transforms.functional import to_pil_image, to_tensor

from rrdb import RRDBNet


def load(path):
    net = RRDBNet(3, 3, 64, 23)
    net.load_state_dict(torch.load(path, map_location="cpu"))
    # eval() saves memory at inference
    net.eval()
    return net.to("cuda")


def upscale(net, src, dst):
    x = to_tensor(Image.open(src).convert("RGB")).unsqueeze(0).to("cuda")
    y = net(x).clamp(0, 1)
    to_pil_image(y[0].detach().cpu()).save(dst)


if __name__ == "__main__":
    net = load("RRDB_x4.pth")
    for f in Path(sys.argv[1]).glob("*.png"):
        upscale(net, f, Path(sys.argv[2]) / f.name)
