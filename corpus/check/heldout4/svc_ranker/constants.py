"""Imported by the web workers, the batch jobs and the tests."""
import torch

MAX_DOCS = 512
DIM = 384
PAD = torch.zeros(DIM, device="cuda")
TEMPERATURE = 0.07


def pad_to(docs, n=MAX_DOCS):
    if docs.size(0) >= n:
        return docs[:n]
    return torch.cat([docs, PAD.to(docs).expand(n - docs.size(0), -1)])
