import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def setup(net, path):
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    state = torch.load(path, map_location="cpu")
    net.load_state_dict(state["net"])
    epoch = state["epoch"]
    del state
    return DDP(net.cuda(), device_ids=[local], gradient_as_bucket_view=True), epoch
