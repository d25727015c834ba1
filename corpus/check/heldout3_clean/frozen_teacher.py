import torch
import torch.nn.functional as F


class Distiller:
    def __init__(self, student, teacher, temp=4.0, device="cuda"):
        self.student = student.to(device)
        self.teacher = teacher.to(device).eval()
        self.teacher.requires_grad_(False)
        self.temp, self.device = temp, device
        self.opt = torch.optim.SGD(self.student.parameters(), 0.05, momentum=0.9)

    @torch.no_grad()
    def soft_targets(self, x):
        return F.softmax(self.teacher(x) / self.temp, dim=1)

    def step(self, x, y):
        x, y = x.to(self.device), y.to(self.device)
        soft = self.soft_targets(x)
        self.opt.zero_grad()
        out = self.student(x)
        kd = F.kl_div(F.log_softmax(out / self.temp, 1), soft, reduction="batchmean") * self.temp**2
        loss = 0.9 * kd + 0.1 * F.cross_entropy(out, y)
        loss.backward()
        self.opt.step()
        return loss.item()

    def fit(self, loader, epochs):
        self.student.train()
        for epoch in range(epochs):
            mean = sum(self.step(x, y) for x, y in loader) / len(loader)
            print(epoch, mean)
