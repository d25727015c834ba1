import argparse

import torch
import torch.distributed as dist


class Trainer:
    def __init__(self, model, rank):
        self.rank = rank
        self.wrapper = torch.nn.parallel.DistributedDataParallel(model.to(rank), device_ids=[rank], output_device=rank)
        self.opt = torch.optim.Adam(self.wrapper.parameters(), lr=1e-3)

    def run(self, batches):
        for b in batches:
            self.opt.zero_grad()
            self.wrapper(b.to(self.rank)).mean().backward()
            self.opt.step()


def entry(model, batches):
    ap = argparse.ArgumentParser()
    ap.add_argument("--local_rank", type=int, default=0)
    args = ap.parse_args()
    dist.init_process_group(backend="nccl", init_method="env://")
    Trainer(model, args.local_rank).run(batches)
