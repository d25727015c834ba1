"""Item and user features for the ranker."""
import numpy as np
import torch
from torch.utils.data import Dataset

from . import config


class Store:
    def __init__(self, path: str):
        self.table = np.load(path, mmap_mode="r")

    def item(self, item_id: int) -> torch.Tensor:
        return torch.from_numpy(self.table[item_id].copy()).to(config.DEVICE)


class Impressions(Dataset):
    def __init__(self, path: str):
        z = np.load(path)
        self.dense = torch.from_numpy(z["dense"]).float().to(config.DEVICE)
        self.label = torch.from_numpy(z["label"]).float().to(config.DEVICE)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return self.dense[i], self.label[i]
