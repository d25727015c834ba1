import torch
import torch.nn.functional as F


class Distill(torch.nn.Module):
    def __init__(self, teacher, student, T=4.0):
        super().__init__()
        self.teacher = teacher.eval().requires_grad_(False)
        self.student = student
        self.T = T

    @torch.no_grad()
    def soft(self, x):
        return F.softmax(self.teacher(x) / self.T, dim=-1)

    def forward(self, x, y):
        target = self.soft(x)
        out = self.student(x)
        kd = F.kl_div(F.log_softmax(out / self.T, dim=-1), target, reduction="batchmean")
        return F.cross_entropy(out, y) + self.T ** 2 * kd


def train(module, loader, opt):
    for x, y in loader:
        opt.zero_grad()
        loss = module(x.cuda(), y.cuda())
        loss.backward()
        opt.step()
