import os

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class LaneDataset(Dataset):
    def __init__(self, root):
        self.paths = sorted(os.path.join(root, f) for f in os.listdir(root))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        img = np.asarray(Image.open(self.paths[i]).convert("RGB"), dtype=np.float32) / 255
        x = torch.from_numpy(img).permute(2, 0, 1).cuda()
        return torch.nn.functional.interpolate(x[None], size=(320, 800))[0]


def loader(root):
    return DataLoader(LaneDataset(root), batch_size=16, num_workers=8, shuffle=True)
