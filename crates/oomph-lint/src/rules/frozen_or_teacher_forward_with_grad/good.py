import torch
import torch.nn.functional as F


def distil(student, teacher, loader, optimizer):
    teacher.eval()
    for x in loader:
        with torch.no_grad():
            target = teacher(x.cuda())
        loss = F.mse_loss(student(x.cuda()), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
