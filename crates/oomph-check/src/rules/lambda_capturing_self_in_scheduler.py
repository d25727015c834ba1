# --- bad
import torch

class Trainer:
    def __init__(self, model, warmup):
        self.warmup = warmup
        self.opt = torch.optim.AdamW(model.parameters())
        self.sched = torch.optim.lr_scheduler.LambdaLR(self.opt, lambda step: min(1.0, step / self.warmup))
# --- good
import torch

class Trainer:
    def __init__(self, model, warmup):
        self.warmup = warmup
        self.opt = torch.optim.AdamW(model.parameters())
        self.sched = torch.optim.lr_scheduler.LambdaLR(self.opt, lambda step, warmup=warmup: min(1.0, step / warmup))
# --- silent
import torch

class Trainer:
    def __init__(self, model, warmup):
        opt = torch.optim.AdamW(model.parameters())
        self.sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min(1.0, step / warmup))
# --- silent
import torch

class Trainer:
    def fit(self, model):
        opt = torch.optim.AdamW(model.parameters())
        sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: self.rate(step))
        for _ in range(10):
            opt.step()
            sched.step()
