"""Hyper-parameter sweep for the two-tower model, all trials in one process."""
import optuna
import torch
import torch.nn.functional as F

from recs.towers import TwoTower
from recs.logs import click_loader


class Run:
    def __init__(self, dim, lr, warm):
        self.warm = warm
        self.net = TwoTower(users=40_000_000, items=3_000_000, dim=dim).cuda()
        self.opt = torch.optim.Adagrad(self.net.parameters(), lr=lr)
        self.sched = torch.optim.lr_scheduler.LambdaLR(self.opt, lambda s: min(1.0, s / self.warm))

    def train(self, steps):
        total = 0.0
        for _, (u, pos, neg) in zip(range(steps), click_loader(8192)):
            su = self.net(u.cuda(), pos.cuda()) - self.net(u.cuda(), neg.cuda())
            loss = F.softplus(-su).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.sched.step()
            total += loss.item()
        return total / steps


def objective(trial):
    run = Run(dim=trial.suggest_categorical("dim", [32, 64]), lr=trial.suggest_float("lr", 1e-3, 1e-1, log=True),
              warm=trial.suggest_int("warm", 100, 2000))
    return run.train(3000)


if __name__ == "__main__":
    optuna.create_study().optimize(objective, n_trials=50)
