import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def resume(path, model, opt):
    """Reads on the CPU; the dictionary goes when the function is left."""
    ckpt = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(ckpt["model"])
    opt.load_state_dict(ckpt["opt"])
    return ckpt["epoch"] + 1


def main(build, make_loader):
    p = argparse.ArgumentParser()
    p.add_argument("--resume")
    p.add_argument("--epochs", type=int, default=10)
    a = p.parse_args()
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    model = build().to(rank)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
    start = resume(a.resume, model, opt) if a.resume else 0
    ddp = DistributedDataParallel(model, device_ids=[rank])
    for epoch in range(start, a.epochs):
        for x, y in make_loader(epoch):
            opt.zero_grad()
            loss = torch.nn.functional.cross_entropy(ddp(x.to(rank)), y.to(rank))
            loss.backward()
            opt.step()
        if rank == 0:
            torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, "last.pt")
    dist.destroy_process_group()
