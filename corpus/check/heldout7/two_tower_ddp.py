import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from towers import TwoTower
from feed import loader_for

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")

model = DDP(TwoTower(dim=256).cuda(), device_ids=[rank])
opt = torch.optim.AdamW(model.parameters(), 1e-3)
grad_norms = []


def recall_at(k, loader):
    model.eval()
    scored = []
    with torch.no_grad():
        for q, d in loader:
            qe, de = model(q.cuda(), d.cuda())
            scored.append((qe @ de.T).cpu())
    world = [None] * dist.get_world_size()
    dist.all_gather_object(world, scored)
    hits = [s.topk(k).indices.eq(torch.arange(len(s))[:, None]).any(1).float() for w in world for s in w]
    model.train()
    return torch.cat(hits).mean().item()


for epoch in range(10):
    for q, d in loader_for("train", rank):
        qe, de = model(q.cuda(), d.cuda())
        loss = F.cross_entropy(qe @ de.T / 0.05, torch.arange(len(qe), device="cuda"))
        opt.zero_grad()
        loss.backward()
        grad_norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0))
        opt.step()
    if rank == 0:
        print(epoch, "median norm", torch.stack(grad_norms).median().item())
    print(rank, "R@10", recall_at(10, loader_for("valid", rank)))
