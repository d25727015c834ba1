import torch


@torch.no_grad()
def top_matches(queries, gallery, k=10, chunk=2048):
    """Nearest gallery rows, computed block by block with cdist."""
    gallery = gallery.cuda()
    found = []
    for q in queries.split(chunk):
        d = torch.cdist(q.cuda(), gallery)
        found.append(d.topk(k, largest=False).indices.cpu())
    return torch.cat(found)


def recall_at(found, labels_q, labels_g, k):
    hit = (labels_g[found[:, :k]] == labels_q[:, None]).any(1)
    return hit.float().mean().item()
