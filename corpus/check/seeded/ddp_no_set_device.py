import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torchvision
from torch.nn.parallel import DistributedDataParallel as DDP


def main_worker(rank, world):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", "29500"
    dist.init_process_group("nccl", rank=rank, world_size=world)
    net = torchvision.models.resnet18().to(rank)
    net = DDP(net, device_ids=[rank])
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(100):
        loss = net(torch.randn(32, 3, 224, 224, device=rank)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    torch.cuda.empty_cache()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(main_worker, args=(torch.cuda.device_count(),), nprocs=torch.cuda.device_count())
