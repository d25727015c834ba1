import torch


@torch.no_grad()
def mean_rank(ent, queries, gold, chunk=256):
    total = 0
    for q, g in zip(queries.split(chunk), gold.split(chunk)):
        d = torch.cdist(q.cuda(), ent, p=1)
        mine = d.gather(1, g.cuda()[:, None])
        total += (d < mine).sum().item() + len(g)
    return total / len(gold)
