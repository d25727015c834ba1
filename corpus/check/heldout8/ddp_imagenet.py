import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torchvision.models import resnet50

from data import loader_for


def main():
    rank = int(os.environ["LOCAL_RANK"])
    dist.init_process_group("nccl")
    dist.barrier()
    net = resnet50().to(f"cuda:{rank}")
    net = DDP(net, device_ids=[rank])
    opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    ce = torch.nn.CrossEntropyLoss()
    for epoch in range(90):
        for x, y in loader_for(rank, epoch):
            x, y = x.to(f"cuda:{rank}"), y.to(f"cuda:{rank}")
            opt.zero_grad()
            loss = ce(net(x), y)
            loss.backward()
            opt.step()
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
