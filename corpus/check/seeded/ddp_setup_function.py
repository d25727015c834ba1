import os

import torch
from torch.distributed import destroy_process_group, init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP


def ddp_setup():
    init_process_group(backend="nccl")


class Trainer:
    def __init__(self, model, data, optimizer):
        self.gpu_id = int(os.environ["LOCAL_RANK"])
        self.model = DDP(model.to(self.gpu_id), device_ids=[self.gpu_id])
        self.data, self.optimizer = data, optimizer

    def run(self):
        for src, tgt in self.data:
            src, tgt = src.to(self.gpu_id), tgt.to(self.gpu_id)
            self.optimizer.zero_grad()
            torch.nn.functional.cross_entropy(self.model(src), tgt).backward()
            self.optimizer.step()


def main(build):
    ddp_setup()
    Trainer(*build()).run()
    destroy_process_group()
