"""torchrun fsdp pretraining of a 13B from scratch."""
import functools
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullStateDictConfig, FullyShardedDataParallel as FSDP, StateDictType
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

from pretrain.data import token_stream
from pretrain.llama import Block, Llama13B


def save(model, step):
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT):
        state = model.state_dict()
    if dist.get_rank() == 0:
        torch.save(state, f"/ckpt/step{step}.pt")


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    net = Llama13B()
    net = net.to("cuda", torch.bfloat16)
    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block})
    model = FSDP(net, auto_wrap_policy=policy, use_orig_params=True)
    opt = torch.optim.AdamW(model.parameters(), 3e-4, betas=(0.9, 0.95), fused=True)
    for step, (x, y) in enumerate(token_stream(4096, batch=2)):
        loss = model(x.cuda(), y.cuda())
        loss.backward()
        model.clip_grad_norm_(1.0)
        opt.step()
        opt.zero_grad(set_to_none=True)
        if step % 1000 == 999:
            save(model, step)


if __name__ == "__main__":
    main()
