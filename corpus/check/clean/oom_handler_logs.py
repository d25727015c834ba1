import logging

import torch

log = logging.getLogger(__name__)


def step(model, batch, opt):
    try:
        loss = model(**batch).loss
        loss.backward()
    except torch.OutOfMemoryError:
        log.exception("out of memory at %s", batch["input_ids"].shape)
        raise
    opt.step()
    opt.zero_grad()
    return loss.item()
