"""torchrun --nproc-per-node 4 ddp_tidy.py"""
import os

import torch
import torch.distributed as dist
import torchvision
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.transforms import Compose, RandomResizedCrop, ToTensor


def main():
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    net = torchvision.models.resnet50().cuda()
    if os.path.exists("init.pt"):
        net.load_state_dict(torch.load("init.pt", map_location="cpu"))
    net = DDP(net, device_ids=[local])
    opt = torch.optim.SGD(net.parameters(), 0.1)
    ds = torchvision.datasets.ImageFolder("train", Compose([RandomResizedCrop(224), ToTensor()]))
    sampler = DistributedSampler(ds)
    for ep in range(10):
        sampler.set_epoch(ep)
        for x, y in DataLoader(ds, 64, sampler=sampler, num_workers=4):
            opt.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda())
            loss.backward()
            opt.step()
        mean = loss.detach()
        dist.all_reduce(mean)
        if local == 0:
            print(ep, mean.item() / dist.get_world_size())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
