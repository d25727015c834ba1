from collections import defaultdict

import torch


class Fitter:
    def __init__(self, net, opt, crit, cfg):
        self.net, self.opt, self.crit, self.cfg = net, opt, crit, cfg
        self.history = defaultdict(list)

    def fit(self, train_loader):
        for epoch in range(self.cfg.epochs):
            for imgs, targets in train_loader:
                imgs, targets = imgs.cuda(), targets.cuda()
                self.opt.zero_grad()
                loss = self.crit(self.net(imgs), targets)
                loss.backward()
                self.opt.step()
                self.history["loss"].append(loss)
            print(epoch, self.history["loss"][-1].item())
