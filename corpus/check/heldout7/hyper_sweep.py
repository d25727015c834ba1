import itertools

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR

from feats import RankNet, batches, ndcg


class Trial:
    def __init__(self, lr, width, warmup):
        self.warmup = warmup
        self.model = RankNet(width).cuda()
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=lr)
        self.sched = LambdaLR(self.opt, lambda step: min(1.0, (step + 1) / self.warmup))

    def run(self, steps):
        for step, (x, y) in zip(range(steps), batches("train")):
            pred = self.model(x.cuda())
            loss = nn.functional.mse_loss(pred, y.cuda())
            self.opt.zero_grad(set_to_none=False)
            loss.backward()
            self.opt.step()
            self.sched.step()
        self.model.eval()
        with torch.inference_mode():
            return sum(ndcg(self.model(x.cuda()).cpu(), y) for x, y in batches("valid"))


def sweep():
    best = (-1.0, None)
    for lr, width, warmup in itertools.product([1e-4, 3e-4, 1e-3], [1024, 4096, 8192], [100, 1000]):
        trial = Trial(lr, width, warmup)
        score = trial.run(20_000)
        print(lr, width, warmup, f"{score:.4f}", torch.cuda.memory_allocated() >> 20, "MiB")
        best = max(best, (score, (lr, width, warmup)))
    return best


if __name__ == "__main__":
    print(sweep())
