import numpy as np
import torch
from torch.utils.data import Dataset


class Volumes(Dataset):
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        with np.load(self.files[i]) as z:
            return torch.from_numpy(z["x"]).float()[None], torch.from_numpy(z["y"]).long()


def to_gpu(batch):
    xs, ys = zip(*batch)
    return torch.stack(xs).cuda(), torch.stack(ys).cuda()
