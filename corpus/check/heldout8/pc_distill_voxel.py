import torch
import torch.nn.functional as F
from torch import optim


def feature_distill(teacher, student, loader, epochs, tau=2.0):
    teacher.cuda().eval()
    student.cuda().train()
    optimiser = optim.AdamW(student.parameters(), 3e-4)
    for epoch in range(epochs):
        epoch_loss = 0
        for vox, target in loader:
            vox, target = vox.cuda(), target.cuda()
            t_feat, t_out = teacher(vox)
            s_feat, s_out = student(vox)
            kd = F.kl_div(F.log_softmax(s_out / tau, 1), F.softmax(t_out / tau, 1), reduction="batchmean")
            loss = F.cross_entropy(s_out, target) + tau * tau * kd + F.mse_loss(s_feat, t_feat)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            epoch_loss += loss
        print(f"epoch {epoch} loss {epoch_loss / len(loader):.4f}")
    return student
