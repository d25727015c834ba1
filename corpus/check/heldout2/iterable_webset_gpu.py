import torch
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __init__(self, shards):
        self.shards = shards

    def __iter__(self):
        for shard in self.shards:
            for row in torch.load(shard, map_location="cpu"):
                yield row["x"].cuda(non_blocking=True), row["y"]


def train(model, shards, opt, loss_fn):
    for x, y in DataLoader(Stream(shards), batch_size=None, num_workers=4):
        opt.zero_grad()
        loss_fn(model(x), y.cuda()).backward()
        opt.step()
