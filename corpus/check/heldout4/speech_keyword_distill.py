"""Small keyword spotter distilled from the big one; runs nightly."""
import torch
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR

from kws.nets import BigKWS, TinyKWS
from kws.data import stream


class Distiller:
    def __init__(self, args):
        self.big = BigKWS().cuda()
        self.big.load_state_dict(torch.load(args.big, map_location="cpu"))
        self.big.eval()
        self.tiny = TinyKWS().cuda()
        self.warm = args.warmup
        self.opt = torch.optim.SGD(self.tiny.parameters(), args.lr, momentum=0.9)
        self.sched = LambdaLR(self.opt, lambda s: min(1.0, s / self.warm))
        self.temp = args.temp
        self.running = 0.0
        self.steps = 0

    def _kd(self, student_logits, teacher_logits):
        p = F.log_softmax(student_logits / self.temp, -1)
        q = F.softmax(teacher_logits / self.temp, -1)
        return F.kl_div(p, q, reduction="batchmean") * self.temp ** 2

    def update(self, mel, label):
        ref = self.big(mel)
        out = self.tiny(mel)
        loss = self._kd(out, ref) + F.cross_entropy(out, label)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.sched.step()
        self.running = self.running + loss
        self.steps += 1


def nightly(args):
    for night in range(args.nights):
        d = Distiller(args)
        for mel, label in stream(night):
            d.update(mel.cuda(), label.cuda())
        print(night, float(d.running) / d.steps)
        torch.save(d.tiny.state_dict(), f"kws_{night}.pt")
