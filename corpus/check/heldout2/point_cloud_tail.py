import torch
import torch.nn.functional as F


class PointTrainer:
    def __init__(self, net, opt, cfg):
        self.net, self.opt, self.cfg = net, opt, cfg

    def train_epoch(self, loader):
        k = self.cfg.accum_iter
        self.opt.zero_grad()
        for it, (pts, seg) in enumerate(loader):
            pts, seg = pts.cuda(), seg.cuda()
            pred = self.net(pts)
            loss = F.cross_entropy(pred.transpose(1, 2), seg)
            (loss / k).backward()
            update = (it + 1) % k == 0
            if update:
                self.opt.step()
                self.opt.zero_grad()
            if it % 50 == 0:
                print(it, float(loss.detach()))

    def fit(self, loader):
        for epoch in range(self.cfg.epochs):
            self.train_epoch(loader)
            torch.save(self.net.state_dict(), f"pt{epoch}.pt")
