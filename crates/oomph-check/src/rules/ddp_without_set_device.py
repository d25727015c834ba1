# --- bad
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def worker(rank, world_size):
    dist.init_process_group('nccl', rank=rank, world_size=world_size)
    model = build_model().cuda()
    model = DistributedDataParallel(model, device_ids=[rank])
# --- good
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def worker(rank, world_size):
    torch.cuda.set_device(rank)
    dist.init_process_group('nccl', rank=rank, world_size=world_size)
    model = build_model().cuda()
    model = DistributedDataParallel(model, device_ids=[rank])
# --- bad
import torch
import torch.distributed as dist

def main(build):
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    dist.init_process_group(backend='nccl')
    return torch.nn.parallel.DistributedDataParallel(build().to(device))
# --- good
import os
import torch
import torch.distributed as dist

def main(build):
    device = torch.device('cuda', int(os.environ['LOCAL_RANK']))
    torch.cuda.set_device(device)
    dist.init_process_group(backend='nccl')
    return torch.nn.parallel.DistributedDataParallel(build().to(device))
# --- bad
import os
from torch.distributed import init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP

def setup(backend='nccl'):
    init_process_group(backend)

def wrap(model):
    gpu = int(os.environ['LOCAL_RANK'])
    return DDP(model.to(gpu), device_ids=[gpu])
# --- good
import os
import torch
from torch.distributed import init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP

def setup(backend='nccl'):
    torch.cuda.set_device(int(os.environ['LOCAL_RANK']))
    init_process_group(backend)

def wrap(model):
    gpu = int(os.environ['LOCAL_RANK'])
    return DDP(model.to(gpu), device_ids=[gpu])
# --- bad
import torch
from torch.distributed import all_gather_object, init_process_group

def main(scores):
    init_process_group(backend='nccl', init_method='env://')
    gathered = [None] * 8
    all_gather_object(gathered, scores)
    return gathered
# --- good
import os
import torch
from torch.distributed import all_gather_object, init_process_group

def main(scores):
    torch.cuda.set_device(int(os.environ['LOCAL_RANK']))
    init_process_group(backend='nccl', init_method='env://')
    gathered = [None] * 8
    all_gather_object(gathered, scores)
    return gathered
# --- silent
import torch
import torch.distributed as dist

def worker(rank, world_size):
    dist.init_process_group('gloo', rank=rank, world_size=world_size)
    model = build_model().cuda()
# --- silent
import os
import torch
import torch.distributed as dist

def worker(rank, world_size):
    os.environ['CUDA_VISIBLE_DEVICES'] = str(rank)
    dist.init_process_group('nccl', rank=rank, world_size=world_size)
    model = build_model().cuda()
# --- silent
import torch
import torch.distributed as dist

def worker(rank, world_size):
    dist.init_process_group('nccl', rank=rank, world_size=world_size)
    device = torch.device('cuda', rank)
    model = build_model().to(device)
# --- silent
import torch
import torch.distributed as dist

def worker(rank, world_size):
    dist.init_process_group('nccl', rank=rank, world_size=world_size)
    with torch.cuda.device(rank):
        model = build_model().cuda()
