import functools
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import StateDictType
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy

from bigranker import LLMRanker, loader


def setup():
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    return rank


def save(model, path, rank):
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT):
        sd = model.state_dict()
    if rank == 0:
        torch.save(sd, path)


def main():
    rank = setup()
    policy = functools.partial(size_based_auto_wrap_policy, min_num_params=50_000_000)
    ranker = LLMRanker.from_config("13b.yaml").cuda()
    model = FSDP(ranker, auto_wrap_policy=policy)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for step, (ids, mask, gains) in enumerate(loader(rank)):
        scores = model(ids.cuda(), mask.cuda())
        loss = -(gains.cuda().softmax(-1) * scores.log_softmax(-1)).sum(-1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 2000 == 1999:
            save(model, f"/ckpt/ranker_{step}.pt", rank)


if __name__ == "__main__":
    main()
