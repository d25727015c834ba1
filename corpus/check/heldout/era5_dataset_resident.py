import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Weather(Dataset):
    def __init__(self, path, lead=6):
        fields = np.load(path, mmap_mode="r")
        self.fields = torch.as_tensor(np.asarray(fields), dtype=torch.float32).cuda()
        self.lead = lead

    def __len__(self):
        return len(self.fields) - self.lead

    def __getitem__(self, i):
        return self.fields[i], self.fields[i + self.lead]


loader = DataLoader(Weather("era5.npy"), batch_size=16, shuffle=True)
