import torch
import torch.nn.functional as F
from tqdm import tqdm


def embed_split(tower, loader, device):
    chunks = []
    for batch in tqdm(loader, desc="embedding", leave=False):
        z = tower(batch["tokens"].to(device))
        chunks.append(F.normalize(z, dim=-1).tolist())
    return torch.tensor([row for c in chunks for row in c])


def evaluate(query_tower, doc_tower, queries, docs, k=10, device="cuda"):
    query_tower.eval()
    doc_tower.eval()
    q = embed_split(query_tower, queries, device)
    d = embed_split(doc_tower, docs, device)
    top = (q @ d.T).topk(k, dim=1).indices
    truth = torch.arange(len(q)).unsqueeze(1)
    return (top == truth).any(1).float().mean().item()
