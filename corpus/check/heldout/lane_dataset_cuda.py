import cv2
import torch
from torch.utils.data import DataLoader, Dataset


class Lanes(Dataset):
    def __init__(self, root, names):
        self.root, self.names = root, names

    def __len__(self):
        return len(self.names)

    def _load(self, name):
        img = cv2.imread(f"{self.root}/{name}.jpg")[..., ::-1].copy()
        return torch.from_numpy(img).permute(2, 0, 1).float().cuda() / 255

    def __getitem__(self, i):
        img = self._load(self.names[i])
        row = torch.load(f"{self.root}/{self.names[i]}.pt", map_location="cpu")
        return img, row


def loaders(root, train, val):
    kw = dict(batch_size=16, num_workers=8)
    return DataLoader(Lanes(root, train), shuffle=True, **kw), DataLoader(Lanes(root, val), **kw)
