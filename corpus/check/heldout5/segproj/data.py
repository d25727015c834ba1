from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset


class Tiles(Dataset):
    def __init__(self, root, split):
        self.files = sorted(Path(root, split).glob("*.pt"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        d = torch.load(self.files[i], map_location="cpu")
        return d["img"], d["mask"]


def batches(cfg, split):
    """Yields batches on the GPU."""
    dl = DataLoader(Tiles(cfg["root"], split), cfg["bs"], shuffle=split == "train", num_workers=cfg["workers"])
    for img, mask in dl:
        img = img.pin_memory().to("cuda", non_blocking=True)
        mask = mask.pin_memory().to("cuda", non_blocking=True)
        yield img, mask
