import torch


class Trainer:
    def __init__(self, model, optimizer, criterion, accumulate=4):
        self.model = model
        self.optimizer = optimizer
        self.criterion = criterion
        self.accumulate = accumulate
        self.ticks = 0

    def _forward_backward(self, batch):
        self.model.zero_grad()
        loss = self.criterion(self.model(batch["image"].cuda()), batch["label"].cuda())
        (loss / self.accumulate).backward()
        return loss.item()

    def run_epoch(self, loader):
        running = 0.0
        for batch in loader:
            running += self._forward_backward(batch)
            self.ticks += 1
            if self.ticks % self.accumulate == 0:
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
        return running / len(loader)
