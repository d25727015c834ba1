import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import FullStateDictConfig, StateDictType


def build(make, rank):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    model = make().cuda()
    return FSDP(model)


def save(model, path, rank):
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT):
        state = model.state_dict()
    if rank == 0:
        torch.save(state, path)


@torch.no_grad()
def evaluate(model, loader, world):
    preds = []
    for x, _ in loader:
        out = model(x.cuda())
        parts = [torch.empty_like(out) for _ in range(world)]
        dist.all_gather(parts, out)
        preds.append(torch.cat(parts).argmax(1).cpu())
    return torch.cat(preds)
