import torch
import torch.nn.functional as F
from torch import nn


class Decoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.cell = nn.GRUCell(dim, dim)
        self.out = nn.Linear(dim, vocab)

    def forward(self, h, target):
        """The state runs through the steps of one sentence; its graph is wanted."""
        loss = 0
        token = target[:, 0]
        for t in range(1, target.size(1)):
            h = self.cell(self.emb(token), h)
            loss = loss + F.cross_entropy(self.out(h), target[:, t])
            token = target[:, t]
        return loss / (target.size(1) - 1)
