import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def worker(rank, world):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29500"
    dist.init_process_group("nccl", rank=rank, world_size=world)
    net = nn.Linear(1024, 1024).cuda(rank)
    net = DistributedDataParallel(net, device_ids=[rank])
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(100):
        opt.zero_grad()
        net(torch.randn(64, 1024, device=rank)).sum().backward()
        opt.step()
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    n = torch.cuda.device_count()
    mp.spawn(worker, args=(n,), nprocs=n)
