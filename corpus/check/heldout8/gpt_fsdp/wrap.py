from functools import partial

from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

from .model import Block


def shard(net):
    policy = partial(transformer_auto_wrap_policy, transformer_layer_cls={Block})
    return FSDP(net.cuda(), auto_wrap_policy=policy)
