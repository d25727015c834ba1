"""DDP in processes that the script starts by itself."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def worker(rank, world):
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="12355")
    dist.init_process_group("nccl", rank=rank, world_size=world)
    torch.cuda.set_device(rank)
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(256, 256).to(rank), device_ids=[rank])
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(10):
        net(torch.randn(8, 256, device=rank)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    count = torch.cuda.device_count()
    mp.spawn(worker, args=(count,), nprocs=count, join=True)
