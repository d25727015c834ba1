from itertools import cycle

import torch
import torch.nn.functional as F


class Adapter:
    def __init__(self, net, source_loader, target_loader):
        self.net = net
        self.source_loader = source_loader
        self.target_loader = target_loader
        self.opt = torch.optim.Adam(net.parameters(), 1e-4)

    def epoch(self):
        for (xs, ys), (xt, _) in zip(self.source_loader, cycle(self.target_loader)):
            fs, ft = self.net.features(xs.cuda()), self.net.features(xt.cuda())
            loss = F.cross_entropy(self.net.head(fs), ys.cuda())
            loss = loss + (fs.mean(0) - ft.mean(0)).pow(2).sum()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
