# --- bad
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, StateDictType

def save(model, path):
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT):
        state = model.state_dict()
    torch.save(state, path)
# --- good
import torch
from torch.distributed.fsdp import FullStateDictConfig, FullyShardedDataParallel as FSDP, StateDictType

def save(model, path):
    whole = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, whole):
        state = model.state_dict()
    torch.save(state, path)
# --- bad
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

def whole(model):
    return get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
# --- good
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

def whole(model):
    return get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
# --- silent
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, StateDictType

def load(model, state):
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT):
        model.load_state_dict(state)
# --- silent
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, StateDictType

def save(model):
    with FSDP.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
        return model.state_dict()
# --- silent
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict

def load(model, state):
    set_model_state_dict(model, state, options=StateDictOptions(full_state_dict=True))
