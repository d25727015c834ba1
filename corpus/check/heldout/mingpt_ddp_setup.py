import os

import torch
from torch.distributed import destroy_process_group, init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP


def ddp_setup():
    init_process_group(backend="nccl")


def main(build_model, loader, epochs):
    ddp_setup()
    local_rank = int(os.environ["LOCAL_RANK"])
    model = build_model().to(f"cuda:{local_rank}")
    model = DDP(model, device_ids=[local_rank])
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for _ in range(epochs):
        for x, y in loader:
            opt.zero_grad(set_to_none=True)
            loss = model(x.to(local_rank), y.to(local_rank))
            loss.backward()
            opt.step()
        torch.cuda.empty_cache()
    destroy_process_group()
