import torch
import torch.nn.functional as F


class PhaseOne:
    def __init__(self, encoder, heads, opt, log_every=50):
        self.encoder, self.heads, self.opt = encoder, heads, opt
        self.log_every = log_every
        self.loss_src_value = 0.0
        self.loss_tgt_value = 0.0

    def step(self, i, src, tgt):
        self.opt.zero_grad()
        xs, ys = src
        loss_src = F.cross_entropy(self.heads["src"](self.encoder(xs.cuda())), ys.cuda())
        pseudo = self.heads["tgt"](self.encoder(tgt.cuda()))
        loss_tgt = -(pseudo.softmax(1) * pseudo.log_softmax(1)).sum(1).mean()
        (loss_src + 0.1 * loss_tgt).backward()
        self.opt.step()
        self.loss_src_value += loss_src
        self.loss_tgt_value += loss_tgt.item()
        if i and i % self.log_every == 0:
            print(i, float(self.loss_src_value), self.loss_tgt_value)

    def run(self, source, target):
        for i, (s, t) in enumerate(zip(source, target)):
            self.step(i, s, t)
