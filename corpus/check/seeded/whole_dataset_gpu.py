import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset


class Volumes(Dataset):
    def __init__(self, path):
        arr = np.load(path)
        self.x = torch.tensor(arr["x"], dtype=torch.float32).cuda()
        self.y = torch.tensor(arr["y"]).cuda()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def simple(X, Y):
    return DataLoader(TensorDataset(X.to("cuda"), Y.to("cuda")), 64, shuffle=True)
