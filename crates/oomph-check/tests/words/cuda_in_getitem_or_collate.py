import torch
from torch.utils.data import DataLoader, IterableDataset

class Stream(IterableDataset):
    def __init__(self, path, device):
        self.path, self.device = path, device

    def __iter__(self):
        for line in open(self.path):
            yield torch.tensor([int(word) for word in line.split()]).to(self.device)  # <-

def stream(path):
    return DataLoader(Stream(path, "cuda:0"), batch_size=None, num_workers=6)
# ---
import torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self, rows, place="cpu"):
        self.rows = rows
        self.place = place

    def __getitem__(self, index):
        row = torch.as_tensor(self.rows[index])
        return row.to(self.place)  # <-

rows = Rows([[1.0]], place=torch.device("cuda"))
loader = DataLoader(rows, batch_size=8, num_workers=2)
# ---
import torch
from torch.utils.data import DataLoader
device = torch.device("cuda")
def pad(batch):
    return torch.zeros(8, len(batch), device=device)  # <-
def loader(dataset):
    return DataLoader(dataset, batch_size=8, num_workers=4, collate_fn=pad)
