import torch
import torch.nn.functional as F


class MultiTask:
    def __init__(self, trunk, seg, depth):
        self.trunk, self.seg, self.depth = trunk, seg, depth
        params = [*trunk.parameters(), *seg.parameters(), *depth.parameters()]
        self.opt = torch.optim.Adam(params)

    def step(self, x, ys, yd):
        f = self.trunk(x.cuda())
        l1 = F.cross_entropy(self.seg(f), ys.cuda())
        l2 = F.l1_loss(self.depth(f), yd.cuda())
        self.opt.zero_grad()
        l1.backward(retain_graph=True)
        l2.backward(retain_graph=True)
        self.opt.step()
