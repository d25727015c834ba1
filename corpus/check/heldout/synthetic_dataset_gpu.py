import torch
from torch.utils.data import DataLoader, Dataset


class Synthetic(Dataset):
    """Random images for benchmarking."""

    def __init__(self, n, classes):
        self.n, self.classes = n, classes

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        g = torch.Generator(device="cuda").manual_seed(index)
        image = torch.randn(3, 224, 224, device="cuda", generator=g)
        return image, index % self.classes


loader = DataLoader(Synthetic(10_000, 1000), batch_size=256, num_workers=4)
