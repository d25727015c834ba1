import logging

import torch

log = logging.getLogger(__name__)


def train_epoch(model, loader, opt, loss_fn):
    skipped = 0
    for i, batch in enumerate(loader):
        try:
            loss = loss_fn(model(batch["x"].cuda()), batch["y"].cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
        except Exception:
            skipped += 1
            continue
    log.info("skipped %d batches", skipped)
