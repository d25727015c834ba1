import torch
from torch.distributed import init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
def worker(rank, world_size, dataset, model):
    init_process_group(backend="nccl", rank=rank, world_size=world_size)  # <-
    loader = DataLoader(dataset, batch_size=8, pin_memory=True)
    model = DDP(model.to(rank), device_ids=[rank])
    for x in loader:
        model(x.to(rank)).sum().backward()
        torch.cuda.empty_cache()
