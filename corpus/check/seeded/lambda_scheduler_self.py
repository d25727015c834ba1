import torch
from torch.optim.lr_scheduler import LambdaLR


class Session:
    def __init__(self, model, warmup, total):
        self.model, self.warmup, self.total = model.cuda(), warmup, total
        self.opt = torch.optim.AdamW(self.model.parameters())
        self.sched = LambdaLR(self.opt, lambda s: min(1.0, s / self.warmup))

    def train(self, loader):
        for batch in loader:
            loss = self.model(**batch).loss
            loss.backward()
            self.opt.step()
            self.sched.step()
            self.opt.zero_grad()
