import logging

import torch
import torch.nn.functional as F

log = logging.getLogger("train")


class OomTolerantTrainer:
    """Long documents sometimes do not fit; then the batch is cut in two."""

    def __init__(self, model, optimizer, device="cuda"):
        self.model, self.optimizer, self.device = model.to(device), optimizer, device

    def _forward_backward(self, ids, labels, weight=1.0):
        logits = self.model(ids.to(self.device))
        loss = F.cross_entropy(logits.flatten(0, 1), labels.to(self.device).flatten(), ignore_index=-100) * weight
        loss.backward()
        return loss.item()

    def step(self, ids, labels):
        self.optimizer.zero_grad()
        try:
            value = self._forward_backward(ids, labels)
        except torch.cuda.OutOfMemoryError:
            log.warning("out of memory at %s, splitting", tuple(ids.shape))
            self.optimizer.zero_grad()
            torch.cuda.empty_cache()
            value = 0.0
            for a, b in zip(ids.chunk(2), labels.chunk(2)):
                value += self._forward_backward(a, b, 0.5)
        self.optimizer.step()
        return value

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            for n, (ids, labels) in enumerate(loader):
                value = self.step(ids, labels)
                if n % 100 == 0:
                    log.info("epoch %d batch %d loss %.4f", epoch, n, value)
