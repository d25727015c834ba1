"""torchrun --nproc_per_node 8 resume_ddp.py --resume runs/last.ckpt"""
import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from speech import Conformer, LibriSpeech, collate


def load_snapshot(path, model, optimizer):
    snapshot = torch.load(path, weights_only=False)
    model.load_state_dict(snapshot["model"])
    optimizer.load_state_dict(snapshot["optimizer"])
    return snapshot["epoch"]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--resume")
    p.add_argument("--epochs", type=int, default=80)
    a = p.parse_args()
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    ds = LibriSpeech("train-960")
    sampler = DistributedSampler(ds)
    loader = DataLoader(ds, 16, sampler=sampler, collate_fn=collate, num_workers=6)
    model = Conformer(dim=512, layers=17).to(rank)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    epoch0 = load_snapshot(a.resume, model, opt) + 1 if a.resume else 0
    model = DDP(model, device_ids=[rank], gradient_as_bucket_view=True)
    for epoch in range(epoch0, a.epochs):
        sampler.set_epoch(epoch)
        for feats, flen, text, tlen in loader:
            loss = model(feats.to(rank), flen.to(rank), text.to(rank), tlen.to(rank))
            opt.zero_grad()
            loss.backward()
            opt.step()
        if rank == 0:
            torch.save({"model": model.module.state_dict(), "optimizer": opt.state_dict(), "epoch": epoch}, "runs/last.ckpt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
