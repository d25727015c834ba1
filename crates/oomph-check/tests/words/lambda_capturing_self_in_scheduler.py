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
