# --- bad
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

def wrap(model):
    return FSDP(model.cuda())
# --- good
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

def wrap(model):
    return FSDP(model, device_id=torch.cuda.current_device())
# --- bad
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

def build(config):
    model = Llama(config).cuda().train()
    return FSDP(model)
# --- good
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

def build(config):
    model = Llama(config).train()
    return FSDP(model, device_id=torch.cuda.current_device())
# --- bad
import torch
from torch.distributed.fsdp import FullyShardedDataParallel

def setup(rank, build):
    torch.cuda.set_device(rank)
    model = build()
    model.to(rank)
    model = FullyShardedDataParallel(model)
    return model
# --- good
import torch
from torch.distributed.fsdp import FullyShardedDataParallel

def setup(rank, build):
    torch.cuda.set_device(rank)
    model = build()
    model = FullyShardedDataParallel(model, device_id=rank)
    return model
# --- silent
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

def wrap(model):
    model = model.to(torch.bfloat16)
    return FSDP(model, device_id=0)
# --- silent
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

def wrap(model, other):
    other.cuda()
    model = FSDP(model)
    return model.cuda()
