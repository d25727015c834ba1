import os
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size:128,garbage_collection_threshold:0.8"
import torch


class Prefetch:
    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        for views, y in self.loader:
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                views = [v.cuda(non_blocking=True) for v in views]
                y = y.cuda(non_blocking=True)
            torch.cuda.current_stream().wait_stream(side)
            yield views, y


def train(net, crit, loader, opt):
    for views, y in Prefetch(loader):
        opt.zero_grad()
        crit([net(v) for v in views], y).backward()
        opt.step()
