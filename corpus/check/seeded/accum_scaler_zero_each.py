import torch
from torch.amp import GradScaler, autocast


class AmpTrainer:
    def __init__(self, net, opt, accumulation_steps=4):
        self.net, self.opt = net, opt
        self.accumulation_steps = accumulation_steps
        self.scaler = GradScaler("cuda")
        self.it = 0

    def train_batch(self, x, y):
        self.opt.zero_grad(set_to_none=True)
        with autocast("cuda", dtype=torch.float16):
            loss = self.net(x, y) / self.accumulation_steps
        self.scaler.scale(loss).backward()
        self.it += 1
        if self.it % self.accumulation_steps == 0:
            self.scaler.step(self.opt)
            self.scaler.update()

    def epoch(self, loader):
        for x, y in loader:
            self.train_batch(x.cuda(), y.cuda())
