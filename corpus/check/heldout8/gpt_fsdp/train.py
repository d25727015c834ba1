import os

import torch
import torch.distributed as dist

from .checkpointing import save
from .data import token_batches
from .model import GPT, GPTConfig
from .wrap import shard


def main(steps=50_000):
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    torch.cuda.memory._record_memory_history()
    net = shard(GPT(GPTConfig()))
    opt = torch.optim.AdamW(net.parameters(), 3e-4, betas=(0.9, 0.95))
    for step, (x, y) in enumerate(token_batches(steps)):
        loss = net(x.cuda(), y.cuda())
        loss.backward()
        net.clip_grad_norm_(1.0)
        opt.step()
        opt.zero_grad()
        if step % 1000 == 0:
            save(net, f"ckpt/{step}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
