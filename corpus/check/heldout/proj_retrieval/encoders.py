import torch
import torch.nn.functional as F
from torch import nn


class TextTower(nn.Module):
    def __init__(self, vocab=30_000, dim=384):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, ids):
        return F.normalize(self.out(self.emb(ids).relu()), dim=-1)


def encode(tower, batch, device):
    """Vectors of one batch."""
    return tower(batch["ids"].to(device))


@torch.no_grad()
def encode_frozen(tower, batch, device):
    return tower(batch["ids"].to(device))
