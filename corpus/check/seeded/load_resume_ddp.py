import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def worker(model, args):
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    model = DDP(model.cuda(local), device_ids=[local])
    opt = torch.optim.AdamW(model.parameters())
    start = 0
    if os.path.exists(args.snapshot):
        snap = torch.load(args.snapshot)
        model.module.load_state_dict(snap["MODEL_STATE"])
        opt.load_state_dict(snap["OPT"])
        start = snap["EPOCHS_RUN"]
    return model, opt, start
