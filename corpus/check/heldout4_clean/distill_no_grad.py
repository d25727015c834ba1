"""Distillation: the teacher runs without gradients."""
import torch
import torch.nn.functional as F


class Distill:
    def __init__(self, teacher, student, temp=3.0, lr=1e-3):
        self.teacher = teacher.cuda().eval().requires_grad_(False)
        self.student = student.cuda()
        self.temp = temp
        self.opt = torch.optim.AdamW(self.student.parameters(), lr)

    @torch.no_grad()
    def targets(self, x):
        return F.softmax(self.teacher(x) / self.temp, dim=-1)

    def step(self, x, y):
        x, y = x.cuda(), y.cuda()
        soft = self.targets(x)
        out = self.student(x)
        kd = F.kl_div(F.log_softmax(out / self.temp, -1), soft, reduction="batchmean") * self.temp ** 2
        loss = 0.7 * kd + 0.3 * F.cross_entropy(out, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def run(distill, loader, epochs):
    for e in range(epochs):
        losses = [distill.step(x, y) for x, y in loader]
        print(e, sum(losses) / len(losses))
