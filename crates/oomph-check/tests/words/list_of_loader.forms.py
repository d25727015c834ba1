import torch
from torch.utils.data import DataLoader
from tqdm import tqdm


def preload(ds, device):
    loader = DataLoader(ds, batch_size=64, num_workers=8)
    data = [tuple(t.to(device) for t in b) for b in tqdm(loader, desc='preload')]  # <-
    return data
# ---
import torch
from torch.utils.data import DataLoader


def whole(ds):
    xs, ys = zip(*DataLoader(ds, batch_size=128))  # <-
    return torch.cat(xs), torch.cat(ys)
