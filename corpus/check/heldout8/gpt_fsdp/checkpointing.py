import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import StateDictType


def save(net, path):
    with FSDP.state_dict_type(net, StateDictType.FULL_STATE_DICT):
        state = net.state_dict()
    if dist.get_rank() == 0:
        torch.save(state, path)
