"""Batch scoring job: gradients are switched off for the whole process."""
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torchvision.models import EfficientNet_V2_M_Weights, efficientnet_v2_m

torch.set_grad_enabled(False)


def main(folder):
    weights = EfficientNet_V2_M_Weights.DEFAULT
    net = efficientnet_v2_m(weights=weights).cuda().eval()
    prep = weights.transforms()
    names, probs = [], []
    files = sorted(Path(folder).rglob("*.jpg"))
    for i in range(0, len(files), 32):
        part = files[i:i + 32]
        x = torch.stack([prep(Image.open(f).convert("RGB")) for f in part]).cuda()
        probs.append(net(x).softmax(1).cpu().numpy())
        names += [f.name for f in part]
    np.savez("scores.npz", names=names, probs=np.concatenate(probs))


if __name__ == "__main__":
    main(sys.argv[1])
