import torch

from encoders import encode, encode_frozen


def corpus_vectors(tower, loader, device):
    return torch.cat([encode_frozen(tower, b, device).cpu() for b in loader])


def query_vectors(tower, loader, device):
    tower.eval()
    rows = []
    for b in loader:
        rows.append(encode(tower, b, device))
    return torch.cat(rows)


def recall(tower, queries, corpus, device, k=10):
    c = corpus_vectors(tower, corpus, device)
    q = query_vectors(tower, queries, device).detach().cpu()
    top = (q @ c.T).topk(k).indices
    return (top == torch.arange(len(q))[:, None]).any(1).float().mean().item()
