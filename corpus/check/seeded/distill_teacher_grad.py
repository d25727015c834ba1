import torch
import torch.nn.functional as F


def distill(student, teacher, loader, opt, T=4.0, alpha=0.9):
    student.train()
    teacher.eval()
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        s = student(x)
        t = teacher(x)
        kd = F.kl_div(F.log_softmax(s / T, 1), F.softmax(t / T, 1), reduction="batchmean") * T * T
        loss = alpha * kd + (1 - alpha) * F.cross_entropy(s, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
