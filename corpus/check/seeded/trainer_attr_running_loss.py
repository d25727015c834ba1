import logging

import torch

log = logging.getLogger("train")


class Trainer(object):
    def __init__(self, model, optimizer, loss_fn, loader, device="cuda"):
        self.model = model.to(device)
        self.optimizer = optimizer
        self.loss_fn = loss_fn
        self.loader = loader
        self.device = device
        self.epoch_loss = 0

    def _step(self, batch):
        src, tgt = (t.to(self.device) for t in batch)
        self.optimizer.zero_grad(set_to_none=True)
        out = self.model(src)
        loss = self.loss_fn(out, tgt)
        loss.backward()
        self.optimizer.step()
        return loss

    def fit(self, epochs):
        for ep in range(epochs):
            self.epoch_loss = 0
            for batch in self.loader:
                loss = self._step(batch)
                self.epoch_loss += loss
            log.info("epoch %d: %.4f", ep, self.epoch_loss / len(self.loader))
