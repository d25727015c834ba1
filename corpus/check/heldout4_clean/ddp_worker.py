"""DDP with the device set first and checkpoints read on the CPU."""
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


def setup():
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    return local


def load(net, path):
    state = torch.load(path, map_location="cpu", weights_only=True)
    net.load_state_dict(state)
    del state


def main(make_net, dataset, resume=None, epochs=10):
    local = setup()
    net = make_net()
    if resume:
        load(net, resume)
    net = DDP(net.to(local), device_ids=[local], gradient_as_bucket_view=True)
    sampler = DistributedSampler(dataset)
    dl = DataLoader(dataset, 64, sampler=sampler, num_workers=4, pin_memory=True)
    opt = torch.optim.AdamW(net.parameters(), 1e-3)
    for e in range(epochs):
        sampler.set_epoch(e)
        for x, y in dl:
            loss = F.cross_entropy(net(x.to(local, non_blocking=True)), y.to(local, non_blocking=True))
            opt.zero_grad()
            loss.backward()
            opt.step()
        if dist.get_rank() == 0:
            torch.save(net.module.state_dict(), "last.pt")
    dist.destroy_process_group()
