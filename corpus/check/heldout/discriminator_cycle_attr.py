import itertools

import torch
from torch.utils.data import DataLoader


class CycleTrainer:
    def __init__(self, ds_a, ds_b, nets, bs=1):
        self.nets = nets
        self.loader_a = DataLoader(ds_a, bs, shuffle=True, num_workers=2)
        self.loader_b = DataLoader(ds_b, bs, shuffle=True, num_workers=2)
        self.stream_b = itertools.cycle(self.loader_b)

    def train_epoch(self):
        for real_a in self.loader_a:
            real_b = next(self.stream_b)
            for net in self.nets:
                net.opt.zero_grad()
                loss = net(real_a.cuda(), real_b.cuda())
                loss.backward()
                net.opt.step()
