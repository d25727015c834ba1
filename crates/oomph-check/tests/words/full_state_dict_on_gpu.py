import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, StateDictType, FullStateDictConfig
def save(model, path, rank):
    cfg = FullStateDictConfig(offload_to_cpu=False, rank0_only=True)  # <-
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, cfg):
        sd = model.state_dict()
    if rank == 0:
        torch.save(sd, path)
# ---
import torch
from torch.distributed.checkpoint.state_dict import get_model_state_dict, StateDictOptions
def save(model, path, rank):
    sd = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=False))  # <-
    if rank == 0:
        torch.save(sd, path)
# ---
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
def save(model, path):
    with FSDP.summon_full_params(model):  # <-
        torch.save(model.state_dict(), path)
# ---
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, StateDictType
def save(model, path, rank):
    FSDP.set_state_dict_type(model, StateDictType.FULL_STATE_DICT)  # <-
    sd = model.state_dict()
    if rank == 0:
        torch.save(sd, path)
# ---
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, StateDictType, FullStateDictConfig
class Saver:
    def __init__(self, model):
        self.model = model
        self.cfg = FullStateDictConfig(rank0_only=True)  # <-
    def save(self, path):
        with FSDP.state_dict_type(self.model, StateDictType.FULL_STATE_DICT, self.cfg):
            torch.save(self.model.state_dict(), path)
