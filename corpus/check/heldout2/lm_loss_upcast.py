import torch
import torch.nn.functional as F
from torch import nn


class LMHead(nn.Module):
    def __init__(self, dim=4096, vocab=128256):
        super().__init__()
        self.proj = nn.Linear(dim, vocab, bias=False, dtype=torch.bfloat16)

    def forward(self, hidden, labels):
        logits = self.proj(hidden)
        logits = logits.float()
        return F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1))


def policy_entropy(logits):
    logp = torch.log(torch.softmax(logits, dim=-1))
    return -(logp.exp() * logp).sum(-1).mean()
