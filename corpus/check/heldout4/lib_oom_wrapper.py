"""smalltrain.oom: decorator that makes a step survive a too large batch."""
import functools
import logging

import torch

logger = logging.getLogger(__name__)


def split(batch, parts=2):
    keys = list(batch)
    chunks = [batch[k].chunk(parts) for k in keys]
    return [dict(zip(keys, c)) for c in zip(*chunks)]


def resilient(step):
    """step(model, optimizer, batch) -> float"""

    @functools.wraps(step)
    def wrapper(model, optimizer, batch):
        try:
            return step(model, optimizer, batch)
        except torch.cuda.OutOfMemoryError:
            logger.warning("out of memory, trying again in two halves")
            optimizer.zero_grad(set_to_none=True)
            torch.cuda.empty_cache()
            parts = [step(model, optimizer, half) for half in split(batch)]
            return sum(parts) / len(parts)

    return wrapper


@resilient
def classify_step(model, optimizer, batch):
    x, y = batch["x"].cuda(), batch["y"].cuda()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss.item()
