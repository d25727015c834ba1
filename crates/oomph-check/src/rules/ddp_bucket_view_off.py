# --- bad
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

def wrap(model, rank):
    torch.cuda.set_device(rank)
    return DDP(model.cuda(), device_ids=[rank])
# --- good
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

def wrap(model, rank):
    torch.cuda.set_device(rank)
    return DDP(model.cuda(), device_ids=[rank], gradient_as_bucket_view=True)
# --- silent
from torch.nn.parallel import DistributedDataParallel

def wrap(model, options):
    return DistributedDataParallel(model, **options)
# --- silent
from apex.parallel import DistributedDataParallel

model = DistributedDataParallel(model)
