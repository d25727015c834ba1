import torch
class Fit:
    def __init__(self, net, warm):
        self.warm = warm
        self.opt = torch.optim.SGD(net.parameters(), 0.1)
        self.plan = torch.optim.lr_scheduler.LambdaLR(self.opt, lambda n: min(1, n / self.warm))  # <-
    def learn(self, loss):
        loss.backward()
        self.opt.step()
def main(nets, losses):
    for net in nets:
        fit = Fit(net, 10)
        for loss in losses:
            fit.learn(loss)
# ---
import optuna
import torch
from nets import Towers

class Run:
    def __init__(self, warm):
        self.warm = warm
        self.net = Towers().cuda()
        self.opt = torch.optim.Adam(self.net.parameters())
        self.plan = torch.optim.lr_scheduler.LambdaLR(self.opt, lambda s: min(1.0, s / self.warm))  # <-

    def train(self, loader):
        for x, y in loader:
            loss = (self.net(x.cuda()) - y.cuda()).pow(2).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.plan.step()

def objective(trial):
    run = Run(trial.suggest_int("warm", 10, 100))
    run.train(trial.loader)
    return 0.0

optuna.create_study().optimize(objective, n_trials=50)
