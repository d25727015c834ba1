from functools import partial

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def collate(batch, vocab):
    ids = [torch.tensor([vocab[t] for t in text.split()]) for text, _ in batch]
    labels = torch.tensor([y for _, y in batch], device=device)
    return pad_sequence(ids, batch_first=True).to(device), labels


def make_loader(data, vocab, bs=64):
    return DataLoader(data, batch_size=bs, shuffle=True, num_workers=4, collate_fn=partial(collate, vocab=vocab))
