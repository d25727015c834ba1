import logging
import time

import torch
from torch.utils.tensorboard import SummaryWriter

log = logging.getLogger(__name__)


class SegTrainer:
    def __init__(self, model, criterion, optimizer, scheduler, loaders, opts):
        self.model = model.to(opts.device)
        self.criterion, self.optimizer, self.scheduler = criterion, optimizer, scheduler
        self.train_loader, self.val_loader = loaders
        self.opts = opts
        self.writer = SummaryWriter(opts.logdir)
        self.epoch_loss = 0
        self.val_loss = 0
        self.best = float("inf")

    def train_epoch(self, epoch):
        self.model.train()
        self.epoch_loss = 0
        t0 = time.time()
        for img, mask in self.train_loader:
            img, mask = img.to(self.opts.device), mask.to(self.opts.device)
            out = self.model(img)["out"]
            loss = self.criterion(out, mask)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.epoch_loss += loss.item()
        self.scheduler.step()
        log.info("epoch %d %.1fs", epoch, time.time() - t0)

    def validate(self, epoch):
        self.model.eval()
        self.val_loss = 0
        for img, mask in self.val_loader:
            out = self.model(img.to(self.opts.device))["out"]
            self.val_loss += self.criterion(out, mask.to(self.opts.device))
        self.val_loss /= len(self.val_loader)
        self.writer.add_scalar("val/loss", self.val_loss, epoch)
        if self.val_loss < self.best:
            self.best = self.val_loss
            torch.save(self.model.state_dict(), self.opts.out)

    def run(self):
        for epoch in range(self.opts.epochs):
            self.train_epoch(epoch)
            self.validate(epoch)
