import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from model import make


def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    net = make().to(f"cuda:{local}")
    state = torch.load("last.pt")
    net.load_state_dict(state["net"])
    opt = torch.optim.AdamW(net.parameters())
    opt.load_state_dict(state["opt"])
    net = DDP(net, device_ids=[local])
    dist.barrier()
    for epoch in range(state["epoch"], 90):
        net.module.fit_epoch(epoch, opt)


if __name__ == "__main__":
    main()
