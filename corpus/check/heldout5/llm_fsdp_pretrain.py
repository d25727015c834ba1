import functools
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import MixedPrecision, StateDictType
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

from lm.model import Block, LanguageModel
from lm.tokens import shard_loader


def save(model, step, rank):
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT):
        sd = model.state_dict()
    if rank == 0:
        torch.save(sd, f"step{step}.pt")
    dist.barrier()


def main():
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    net = LanguageModel(layers=48, dim=6144, heads=48)
    net.to(local)
    net = FSDP(net,
               auto_wrap_policy=functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block}),
               mixed_precision=MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16),
               device_id=local)
    opt = torch.optim.AdamW(net.parameters(), 1.5e-4, betas=(0.9, 0.95))
    for step, (x, y) in enumerate(shard_loader("tokens", rank, dist.get_world_size())):
        loss = net(x.to(local), y.to(local))
        loss.backward()
        net.clip_grad_norm_(1.0)
        opt.step()
        opt.zero_grad()
        if step % 1000 == 0:
            save(net, step, rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
