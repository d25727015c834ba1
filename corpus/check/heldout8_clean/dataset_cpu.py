import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, path):
        self.a = np.load(path, mmap_mode="r")

    def __len__(self):
        return len(self.a)

    def __getitem__(self, i):
        return torch.from_numpy(self.a[i].astype(np.float32))


def batches(path):
    for b in DataLoader(Rows(path), 256, num_workers=4, pin_memory=True):
        yield b.cuda(non_blocking=True)
