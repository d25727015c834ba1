import torch
from torch.utils.data import DataLoader


def collate(rows):
    xs = torch.nn.utils.rnn.pad_sequence([r[0] for r in rows], batch_first=True)
    return xs, torch.tensor([r[1] for r in rows])


def batches(dataset, device="cuda"):
    loader = DataLoader(dataset, 32, collate_fn=collate, num_workers=4, pin_memory=True)
    for x, y in loader:
        yield x.to(device, non_blocking=True), y.to(device, non_blocking=True)
