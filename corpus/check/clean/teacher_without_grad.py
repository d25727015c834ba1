import torch
import torch.nn.functional as F


def distill(student, teacher, loader, opt, T=2.0):
    teacher.eval()
    for x, _ in loader:
        x = x.cuda()
        with torch.no_grad():
            t = teacher(x)
        s = student(x)
        loss = F.kl_div(F.log_softmax(s / T, 1), F.softmax(t / T, 1), reduction="batchmean")
        opt.zero_grad()
        loss.backward()
        opt.step()
