import torch
from torch.optim.lr_scheduler import LambdaLR


class Experiment:
    def __init__(self, model, lr, warmup, total):
        self.model = model.cuda()
        self.warmup, self.total = warmup, total
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr)
        self.scheduler = LambdaLR(
            self.optimizer,
            lr_lambda=lambda step: min(step / self.warmup, 1 - step / self.total),
        )

    def step(self, batch):
        self.optimizer.zero_grad()
        loss = self.model(**batch).loss
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return loss.item()


def search(make, space, batches):
    return {lr: sum(Experiment(make(), lr, 100, 5000).step(b) for b in batches) for lr in space}
