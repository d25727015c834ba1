import torch
import torch.nn.functional as F


def distill(student, teacher, loader, optimizer, T=3.0, alpha=0.7, device="cuda"):
    teacher.to(device).eval()
    student.to(device).train()
    for image, label in loader:
        image, label = image.to(device), label.to(device)
        s = student(image)
        t = teacher(image)
        soft = F.kl_div(F.log_softmax(s / T, 1), F.softmax(t / T, 1), reduction="batchmean") * T * T
        loss = alpha * soft + (1 - alpha) * F.cross_entropy(s, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
