import json

import torch
from torch.utils.data import DataLoader, Dataset

DEVICE = torch.device("cuda:0")


class Dialogues(Dataset):
    def __init__(self, path, tokenizer, max_len=256):
        with open(path) as fh:
            self.rows = [json.loads(line) for line in fh]
        self.tok, self.max_len = tokenizer, max_len

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        ids = self.tok.encode(row["context"] + row["reply"])[: self.max_len]
        return ids, row["label"]


def collate(samples):
    seqs, labels = zip(*samples)
    n = max(map(len, seqs))
    ids = torch.zeros(len(seqs), n, dtype=torch.long)
    for i, s in enumerate(seqs):
        ids[i, : len(s)] = torch.tensor(s)
    return ids.to(DEVICE), torch.tensor(labels).to(DEVICE)


def loaders(train, dev, tokenizer, batch=64):
    mk = lambda path, shuffle: DataLoader(
        Dialogues(path, tokenizer), batch, shuffle=shuffle, collate_fn=collate, num_workers=4, multiprocessing_context="spawn"
    )
    return mk(train, True), mk(dev, False)


def train(model, optimizer, train_loader, epochs):
    model.to(DEVICE)
    for epoch in range(epochs):
        for ids, y in train_loader:
            loss = torch.nn.functional.cross_entropy(model(ids), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())
