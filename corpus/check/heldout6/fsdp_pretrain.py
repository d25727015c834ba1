import os
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, FullStateDictConfig, StateDictType
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy

from lm import build_model, token_stream


def save(model, path, rank):
    cfg = FullStateDictConfig(offload_to_cpu=False, rank0_only=False)
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, cfg):
        state = model.state_dict()
    if rank == 0:
        torch.save(state, path)


def main():
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    model = build_model("7b").to(f"cuda:{local}")
    model = FSDP(model, auto_wrap_policy=size_based_auto_wrap_policy)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for step, ids in enumerate(token_stream(batch=4, length=2048)):
        ids = ids.cuda(local)
        loss = model(ids, labels=ids).loss
        opt.zero_grad()
        loss.backward()
        model.clip_grad_norm_(1.0)
        opt.step()
        if step % 1000 == 0:
            save(model, f"step{step}.pt", dist.get_rank())


if __name__ == "__main__":
    main()
