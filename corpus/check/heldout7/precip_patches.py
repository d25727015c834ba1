import numpy as np
import torch
import xarray as xr
from torch.utils.data import DataLoader, Dataset


class PrecipPatches(Dataset):
    """3-hourly IMERG 2010-2022 over the Alps, 13 x 2920 maps of 200 x 300."""

    def __init__(self, path, patch=64, device="cuda"):
        da = xr.open_dataset(path)["precipitation"].astype("float32")
        self.maps = torch.from_numpy(np.log1p(da.values)).to(device)
        self.patch = patch

    def __len__(self):
        return len(self.maps) - 6

    def __getitem__(self, i):
        y = np.random.randint(0, self.maps.shape[1] - self.patch)
        x = np.random.randint(0, self.maps.shape[2] - self.patch)
        cube = self.maps[i:i + 7, y:y + self.patch, x:x + self.patch]
        return cube[:6], cube[6:]


def loaders(root, bs=128):
    tr = PrecipPatches(f"{root}/imerg_2010_2019.nc")
    va = PrecipPatches(f"{root}/imerg_2020_2022.nc")
    # workers do not work with cuda tensors, so 0
    return DataLoader(tr, bs, shuffle=True, num_workers=0), DataLoader(va, bs, num_workers=0)
