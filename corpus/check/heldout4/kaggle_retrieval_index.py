"""Landmark retrieval: embed the index set, then search."""
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from landmarks import IndexSet, QuerySet, load_backbone


@torch.no_grad()
def embed_all(net, ds, bs=256):
    bank = None
    for img in DataLoader(ds, bs, num_workers=8, pin_memory=True):
        e = F.normalize(net(img.cuda(non_blocking=True)))
        bank = e if bank is None else torch.cat((bank, e), 0)
    return bank


def search(queries, bank, topk=100):
    hits = []
    for q in queries.split(512):
        hits.append((q @ bank.t()).topk(topk).indices.cpu())
    return torch.cat(hits)


if __name__ == "__main__":
    backbone = load_backbone("r101_gem").cuda().eval()
    bank = embed_all(backbone, IndexSet())
    queries = embed_all(backbone, QuerySet())
    torch.save(search(queries, bank), "top100.pt")
