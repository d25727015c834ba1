import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from recs.dlrm import DLRM
from recs.criteo import CriteoDay


def main():
    dist.init_process_group("nccl")
    rank = int(os.environ["LOCAL_RANK"])
    model = DLRM().cuda()
    model = DDP(model)
    if os.path.exists("dlrm.pt"):
        ck = torch.load("dlrm.pt")
        model.module.load_state_dict(ck)
        del ck
    opt = torch.optim.SGD(model.parameters(), 0.1)
    ds = CriteoDay(0)
    dl = DataLoader(ds, 4096, sampler=DistributedSampler(ds), num_workers=4)
    bce = torch.nn.BCEWithLogitsLoss()
    for epoch in range(4):
        dl.sampler.set_epoch(epoch)
        for dense, sparse, click in dl:
            loss = bce(model(dense.cuda(), sparse.cuda()), click.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
        if rank == 0:
            torch.save(model.module.state_dict(), "dlrm.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
