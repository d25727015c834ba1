"""torchrun --nproc-per-node 8 ddp_pretrain_cluster.py --resume last.pt"""
import argparse
import os

import torch
import torch.distributed as dist
import torchvision
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--resume")
    ap.add_argument("--data", default="/data/imagenet")
    args = ap.parse_args()

    dist.init_process_group("nccl")
    rank = int(os.environ["LOCAL_RANK"])
    net = torchvision.models.vit_b_16().to(f"cuda:{rank}")
    opt = torch.optim.AdamW(net.parameters(), 1e-3)
    start = 0
    if args.resume:
        snap = torch.load(args.resume)
        net.load_state_dict(snap["net"])
        opt.load_state_dict(snap["opt"])
        start = snap["epoch"]
    net = DDP(net, device_ids=[rank])
    ds = torchvision.datasets.ImageFolder(args.data, torchvision.transforms.Compose(
        [torchvision.transforms.RandomResizedCrop(224), torchvision.transforms.ToTensor()]))
    sampler = DistributedSampler(ds)
    dl = DataLoader(ds, 128, sampler=sampler, num_workers=8, pin_memory=True)
    ce = torch.nn.CrossEntropyLoss()
    for epoch in range(start, 90):
        sampler.set_epoch(epoch)
        for x, y in dl:
            loss = ce(net(x.to(rank, non_blocking=True)), y.to(rank, non_blocking=True))
            opt.zero_grad()
            loss.backward()
            opt.step()
        torch.cuda.synchronize()
        if rank == 0:
            torch.save({"net": net.module.state_dict(), "opt": opt.state_dict(), "epoch": epoch + 1}, "last.pt")


if __name__ == "__main__":
    main()
