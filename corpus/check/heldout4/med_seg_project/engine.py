import torch
from torch import nn

from .metrics import Average, dice_score


class Engine:
    def __init__(self, net, loss_fn, cfg):
        self.net, self.loss_fn, self.cfg = net.cuda(), loss_fn, cfg
        self.opt = torch.optim.SGD(net.parameters(), cfg.lr, momentum=0.99, nesterov=True)
        self.scaler = torch.amp.GradScaler("cuda", enabled=cfg.amp)

    def _loss(self, batch):
        with torch.autocast("cuda", enabled=self.cfg.amp):
            logits = self.net(batch["image"].cuda(non_blocking=True))
            return self.loss_fn(logits, batch["label"].cuda(non_blocking=True)), logits

    def train_epoch(self, loader):
        self.net.train()
        meter = Average()
        for i, batch in enumerate(loader):
            loss, _ = self._loss(batch)
            self.scaler.scale(loss / self.cfg.accumulate).backward()
            meter.add(loss.item())
            if i % self.cfg.accumulate == self.cfg.accumulate - 1:
                self.scaler.unscale_(self.opt)
                nn.utils.clip_grad_norm_(self.net.parameters(), 12)
                self.scaler.step(self.opt)
                self.scaler.update()
                self.opt.zero_grad()
        self.opt.zero_grad()
        return meter.mean

    def validate(self, loader):
        self.net.eval()
        losses, dices = Average(), Average()
        for batch in loader:
            loss, logits = self._loss(batch)
            losses.add(loss)
            dices.add(dice_score(logits, batch["label"].cuda(), self.cfg.classes))
        return losses.mean, dices.mean
