import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def setup():
    dist.init_process_group("nccl")
    return dist.get_rank(), int(os.environ["LOCAL_RANK"])


def main(G, D, loader, resume=None):
    rank, local = setup()
    G, D = G.cuda(local), D.cuda(local)
    if resume:
        state = torch.load(resume)
        G.load_state_dict(state["G"])
        D.load_state_dict(state["D"])
        del state
    G, D = DDP(G, device_ids=[local]), DDP(D, device_ids=[local])
    og = torch.optim.Adam(G.parameters(), 5e-5)
    od = torch.optim.Adam(D.parameters(), 2e-4)
    for x, y in loader:
        x, y = x.cuda(local), y.cuda(local)
        with torch.no_grad():
            fake = G(torch.randn(len(x), 128, device=x.device), y)
        ld = torch.relu(1 - D(x, y)).mean() + torch.relu(1 + D(fake, y)).mean()
        od.zero_grad()
        ld.backward()
        od.step()
        lg = -D(G(torch.randn(len(x), 128, device=x.device), y), y).mean()
        og.zero_grad()
        lg.backward()
        og.step()
    dist.barrier()
