"""torchrun --nproc_per_node 8 afno_ddp.py
nvidia-smi shows eight python processes on GPU 0 ???"""
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from afno import AFNONet
from era5 import ERA5Hdf5


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    dist.init_process_group("nccl")
    device = torch.device("cuda", local_rank)
    model = AFNONet(img_size=(720, 1440), in_chans=20, out_chans=20).to(device)
    start = 0
    if os.path.exists("ckpt/last.tar"):
        ck = torch.load("ckpt/last.tar")
        model.load_state_dict(ck["model_state"])
        start = ck["epoch"]
        del ck
    model = DDP(model, device_ids=[local_rank], gradient_as_bucket_view=True)
    opt = torch.optim.AdamW(model.parameters(), 5e-4)
    ds = ERA5Hdf5("/scratch/era5/train")
    sampler = DistributedSampler(ds)
    dl = DataLoader(ds, 1, sampler=sampler, num_workers=4, pin_memory=True)
    for ep in range(start, 80):
        sampler.set_epoch(ep)
        for x, y in dl:
            loss = (model(x.to(device)) - y.to(device)).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        dist.barrier()
        if dist.get_rank() == 0:
            torch.save({"model_state": model.module.state_dict(), "epoch": ep + 1}, "ckpt/last.tar")


main()
