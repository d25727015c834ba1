import torch
import torch.nn.functional as F


def kd_step(teacher, student, x, opt, t=4.0):
    with torch.no_grad():
        soft = (teacher(x) / t).softmax(-1)
    loss = F.kl_div((student(x) / t).log_softmax(-1), soft, reduction="batchmean")
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()
