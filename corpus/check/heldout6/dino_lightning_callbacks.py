import lightning as L
import torch


class LossCurve(L.Callback):
    """Keeps the training losses so that we can draw them when fit() is over."""

    def __init__(self):
        self.points = []

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.points.append(outputs["loss"])

    def on_fit_end(self, trainer, pl_module):
        torch.save(torch.stack(self.points).cpu(), "curve.pt")


class Dino(L.LightningModule):
    def __init__(self, student, teacher, crit, m=0.996):
        super().__init__()
        self.student, self.crit, self.m = student, crit, m
        self.teacher = teacher.requires_grad_(False)

    def training_step(self, views, _):
        with torch.no_grad():
            t = torch.stack([self.teacher(v) for v in views[:2]])
        s = torch.stack([self.student(v) for v in views])
        return self.crit(s, t)

    def on_train_batch_end(self, *_):
        with torch.no_grad():
            for a, b in zip(self.student.parameters(), self.teacher.parameters()):
                b.lerp_(a, 1 - self.m)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.student.parameters(), lr=5e-4)
