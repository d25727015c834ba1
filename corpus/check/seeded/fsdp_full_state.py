import torch
from torch.distributed.fsdp import FullStateDictConfig, StateDictType
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

from llama import Llama


def build(cfg):
    model = Llama(cfg).cuda()
    return FSDP(model)


def save(model, path):
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT):
        torch.save(model.state_dict(), path)


def accumulate(model, batches, opt):
    *head, last = batches
    for b in head:
        with model.no_sync():
            model(b.cuda()).loss.backward()
    model(last.cuda()).loss.backward()
    opt.step()
    opt.zero_grad()
