import sys

import torch

from net import UNet3D
from tiles import sliding_window


def segment(path, tomo, dtype=torch.float16):
    net = UNet3D().cuda().eval()
    net.load_state_dict(torch.load(path, map_location="cpu")["state"])
    out = torch.zeros(tomo.shape)
    with torch.no_grad():
        with torch.cuda.amp.autocast(dtype=dtype):
            for box, patch in sliding_window(tomo, 160):
                out[box] = net(patch[None, None].cuda())[0, 0].float().cpu()
    return out


if __name__ == "__main__":
    volume = torch.load(sys.argv[2], map_location="cpu")
    torch.save(segment(sys.argv[1], volume), "segmentation.pt")
