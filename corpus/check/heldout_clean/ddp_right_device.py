import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def local_device():
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    return torch.device("cuda", rank)


def main(make, loader):
    device = local_device()
    dist.init_process_group("nccl", device_id=device)
    model = DDP(make().to(device), device_ids=[device.index], gradient_as_bucket_view=True)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for x, y in loader:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device)).backward()
        opt.step()
    dist.destroy_process_group()
