import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def collate_batch(batch):
    labels, texts = [], []
    for label, ids in batch:
        labels.append(label)
        texts.append(torch.tensor(ids, dtype=torch.int64))
    padded = pad_sequence(texts, batch_first=True)
    return torch.tensor(labels).to(DEVICE), padded.to(DEVICE)


def make_loader(ds):
    return DataLoader(ds, batch_size=64, shuffle=True, num_workers=4, collate_fn=collate_batch)
