import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def worker(rank, world, dataset):
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29500", rank=rank, world_size=world)
    model = nn.Linear(1024, 1024).cuda()
    model = DistributedDataParallel(model)
    opt = torch.optim.SGD(model.parameters(), 0.1)
    for x, y in torch.utils.data.DataLoader(dataset, 32):
        opt.zero_grad()
        nn.functional.mse_loss(model(x.cuda()), y.cuda()).backward()
        opt.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(worker, args=(4, None), nprocs=4)
