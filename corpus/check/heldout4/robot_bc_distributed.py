"""Behaviour cloning, torchrun --nproc_per_node 8 robot_bc_distributed.py"""
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from bc.data import Demos
from bc.policy import DiffusionPolicy

RESUME = "runs/last.ckpt"


def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    local = int(os.environ["LOCAL_RANK"])
    policy = DiffusionPolicy().cuda()
    if os.path.exists(RESUME):
        policy.load_state_dict(torch.load(RESUME))
    policy = DDP(policy)
    ds = Demos("kitchen")
    dl = DataLoader(ds, 64, sampler=DistributedSampler(ds), num_workers=6, pin_memory=True)
    opt = torch.optim.AdamW(policy.parameters(), 1e-4)
    for epoch in range(200):
        dl.sampler.set_epoch(epoch)
        for obs, act in dl:
            loss = policy(obs.cuda(non_blocking=True), act.cuda(non_blocking=True))
            opt.zero_grad()
            loss.backward()
            opt.step()
        if rank == 0:
            torch.save(policy.module.state_dict(), RESUME)
            print(epoch, loss.item(), "local", local)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
