"""DDP, FSDP2 and tensor parallelism run as rank 0 of eight, whose peers are not there."""

import gc
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

RANKS = 8
os.environ.update(RANK="0", WORLD_SIZE=str(RANKS), LOCAL_RANK="0")
# The store over TCP waits for all ranks before NCCL is ever asked; this one is a dictionary.
dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=RANKS)
torch.cuda.set_device(0)


def net():
    return nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(8)]).cuda()


def peak(model) -> int:
    # DDP and its hooks refer to each other: the model before this one goes when Python collects, not before.
    gc.collect()
    torch.cuda.reset_peak_memory_stats()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        model(torch.empty(64, 1024, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return torch.cuda.max_memory_allocated()


parameters = 8 * (1024 * 1024 + 1024) * 4
replicated = peak(DistributedDataParallel(net(), device_ids=[0]))
assert replicated > 5 * parameters, "weights, gradients, buckets, two moments"
sharded = net()
for layer in sharded:
    fully_shard(layer)
fully_shard(sharded)
assert peak(sharded) < replicated / 2

tensor = torch.ones(8, device="cuda")
dist.all_reduce(tensor)
dist.all_reduce(tensor, group=dist.new_group([0, 1, 2, 3]))
dist.all_gather([torch.empty_like(tensor) for _ in range(RANKS)], tensor)
dist.barrier()
mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("data", "tensor"))
split = parallelize_module(
    nn.Sequential(nn.Linear(64, 128), nn.Linear(128, 64)).cuda(), mesh["tensor"], {"0": ColwiseParallel(), "1": RowwiseParallel()}
)
split(torch.empty(4, 64, device="cuda")).sum().backward()
dist.destroy_process_group()
