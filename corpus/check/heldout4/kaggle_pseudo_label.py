"""Second stage: label the 1.2M unlabeled images with stage one, keep the confident ones."""
import itertools

import torch
import torch.nn.functional as F

from stage1 import Net, labelled_loader, unlabelled_loader

teacher = Net("b4").cuda()
teacher.load_state_dict(torch.load("stage1.pt", map_location="cpu"))
student = Net("b0").cuda()
opt = torch.optim.AdamW(student.parameters(), 5e-4)

T, THRESH, STEPS = 2.0, 0.95, 6_000

sup = itertools.cycle(labelled_loader(batch_size=48))
uns = iter(unlabelled_loader(batch_size=192))

teacher.eval()
student.train()
for step in range(STEPS):
    x, y = next(sup)
    u = next(uns).cuda()
    x, y = x.cuda(), y.cuda()

    soft = F.softmax(teacher(u) / T, dim=-1)
    conf, hard = soft.max(-1)
    keep = conf > THRESH

    loss = F.cross_entropy(student(x), y)
    if keep.any():
        loss = loss + F.cross_entropy(student(u[keep]), hard[keep])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 200 == 0:
        print(step, loss.item(), keep.float().mean().item())

torch.save(student.state_dict(), "stage2.pt")
