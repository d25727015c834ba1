import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class Notes(Dataset):
    def __init__(self, rows, device):
        self.rows = rows
        self.device = device

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return torch.tensor(self.rows[i]["ids"]), self.rows[i]["y"]

    def to_device(self, batch):
        return [t.to(self.device, non_blocking=True) for t in batch]


def collate(items):
    ids, ys = zip(*items)
    return pad_sequence(ids, batch_first=True), torch.tensor(ys)


def batches(rows, device="cuda"):
    data = Notes(rows, device)
    for batch in DataLoader(data, 32, num_workers=4, pin_memory=True, collate_fn=collate):
        yield data.to_device(batch)
